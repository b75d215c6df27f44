module baton.rs/node/pods

go 1.26.0
