# The operator's image: one static binary and nothing else, for amd64 and arm64.
#
#     docker build --tag registry.invalid/baton:0.1.0 .
#     docker buildx build --platform linux/amd64,linux/arm64 --tag registry.example/baton:0.1.0 --push .

# The builder, by digest: a tag can be moved. Its release is the one in rust-toolchain.toml; release/check.sh compares the two, and
# docs/releasing.md describes how to change them. The image itself contains nothing of it: it begins at scratch.
ARG RUST_IMAGE=rust:1.95.0@sha256:f49565f188ee00bc2a18dd418183f2c5f23ef7d6e691890517ed341a598f67c3

# The compiler runs on the builder's own architecture, for any architecture of the image.
FROM --platform=$BUILDPLATFORM $RUST_IMAGE AS build
ARG BUILDARCH
ARG TARGETARCH
# For the other architecture, a C compiler: it assembles the cryptography, and it links.
RUN if [ "$TARGETARCH" != "$BUILDARCH" ]; then \
        case "$TARGETARCH" in amd64) cross=x86-64 ;; *) cross=aarch64 ;; esac \
        && apt-get update \
        && apt-get install --yes --no-install-recommends "gcc-$cross-linux-gnu" "libc6-dev-$TARGETARCH-cross"; \
    fi
WORKDIR /src
COPY . .
# The caches remain for the next build and are in no layer, so the script copies the binary out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    release/build.sh "$TARGETARCH" /baton

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="baton" \
      org.opencontainers.image.description="Hands spec.replicas to an autoscaler without dropping a pod" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /baton /baton
# By number: with `runAsNonRoot` the kubelet must see that the user isn't root, and the image has no /etc/passwd.
USER 65532:65532
ENTRYPOINT ["/baton"]
CMD ["run"]
