# The operator's image: one static binary and nothing else.
#
#     docker build --tag baton:0.1.0 .

# The release that rust-toolchain.toml names.
FROM rust:1.95.0 AS build
WORKDIR /src
COPY . .
# crt-static makes a binary that needs no C library beside it. The explicit target keeps the flag away from build
# scripts and procedural macros, which can't be linked so. The binary is copied out because the cache mounts are not
# part of the layer.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    target="$(rustc --print host-tuple)" \
    && RUSTFLAGS="-C target-feature=+crt-static" \
       cargo build --release --locked --package baton-controller --bin baton --target "$target" \
    && cp "target/$target/release/baton" /baton

FROM scratch
LABEL org.opencontainers.image.title="baton" \
      org.opencontainers.image.description="A Kubernetes operator that owns exactly the fields it sets" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /baton /baton
# By number: with `runAsNonRoot` the kubelet must see that it isn't root, and there is no /etc/passwd to look in.
USER 65532:65532
ENTRYPOINT ["/baton"]
CMD ["run"]
