# The operator's image: one static binary and nothing else, for amd64 and arm64.
#
#     docker build --tag baton:0.1.0 .
#     docker buildx build --platform linux/amd64,linux/arm64 --tag registry.example/baton:0.1.0 --push .

# The release is the one that rust-toolchain.toml names. A tag can be moved: to have the same builder each time, give it by the
# digest that you have checked, --build-arg RUST_IMAGE=rust:1.95.0@sha256:… (`docker buildx imagetools inspect rust:1.95.0`
# shows it). The image itself has nothing of another: it begins at scratch.
ARG RUST_IMAGE=rust:1.95.0

# Compiled on the builder's own architecture, whatever the image's is.
FROM --platform=$BUILDPLATFORM $RUST_IMAGE AS build
ARG BUILDARCH
ARG TARGETARCH
# A C compiler for the other architecture, for the assembler of the cryptography and for the linker.
RUN if [ "$TARGETARCH" != "$BUILDARCH" ]; then \
        case "$TARGETARCH" in amd64) cross=x86-64 ;; *) cross=aarch64 ;; esac \
        && apt-get update \
        && apt-get install --yes --no-install-recommends "gcc-$cross-linux-gnu" "libc6-dev-$TARGETARCH-cross"; \
    fi
WORKDIR /src
COPY . .
# The caches are kept from one build to the next and are in no layer; the binary is copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    release/build.sh "$TARGETARCH" /baton

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="baton" \
      org.opencontainers.image.description="A Kubernetes operator that owns exactly the fields it sets" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /baton /baton
# By number: with `runAsNonRoot` the kubelet must see that it isn't root, and there is no /etc/passwd to look in.
USER 65532:65532
ENTRYPOINT ["/baton"]
CMD ["run"]
