# The image of the program; container/README.md has how to build and run it. container/build-root does the work, here and in container/check.

# Pin it by digest where builds must not change: --build-arg RUST_IMAGE=rust:1.95.0-slim-bookworm@sha256:...
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm

FROM ${RUST_IMAGE} AS build
# The version of rust-toolchain.toml, without the components that only developers need.
ENV RUSTUP_TOOLCHAIN=1.95.0
WORKDIR /src
# What rarely changes first, so that it is kept from one build to the next. The secrets are for places that
# reach the registries through mirrors or a proxy of their own; each is optional.
COPY scripts/setup scripts/
RUN --mount=type=secret,id=apt,target=/etc/apt/sources.list.d/debian.sources \
    --mount=type=secret,id=cargo,target=/usr/local/cargo/config.toml \
    --mount=type=secret,id=ca \
    scripts/setup --image
COPY . .
# The same number gives the same bytes. What was compiled on the way is gigabytes that no later stage reads.
ARG SOURCE_DATE_EPOCH=0
RUN --mount=type=secret,id=apt,target=/etc/apt/sources.list.d/debian.sources \
    --mount=type=secret,id=cargo,target=/usr/local/cargo/config.toml \
    --mount=type=secret,id=ca \
    container/build-root --symbols /lethe.debug /image && rm -rf target/dist

# No shell, no package manager: what build-root lists is all there is.
FROM scratch
ARG REVISION=
LABEL org.opencontainers.image.title="Lethe" \
      org.opencontainers.image.description="Streaming de-identification of clinical notes: Kafka in, redacted Parquet out" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image/ /
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/usr/bin/lethe"]
CMD ["--help"]
