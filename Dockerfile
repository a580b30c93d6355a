# The image that the chart runs. `container/check` holds it against a linter and builds its root in a plain folder, without an engine.
#
#   docker build -t lethe .
#
# Needs no network but Debian's packages and crates; --build-arg http_proxy=... and https_proxy=... lead to mirrors of those. Pin the bases by
# digest for a build that is to come out the same: --build-arg BUILD=debian@sha256:... --build-arg BASE=debian@sha256:...
ARG BUILD=rust:1.95-slim-bookworm
ARG BASE=debian:bookworm-slim

FROM ${BUILD} AS build
WORKDIR /lethe
COPY . .
# Paths of the machine stay out of the program; the time of all files is one.
ENV SOURCE_DATE_EPOCH=0 \
    CARGO_INCREMENTAL=0 \
    RUSTFLAGS="--remap-path-prefix=/lethe=. --remap-path-prefix=/usr/local/cargo=cargo"
RUN scripts/setup --minimal \
    && cargo build --release --locked -p lethe \
    && container/root target/release/lethe /image

FROM ${BASE}
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libssl3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /image/ /
# A number, so that Kubernetes can tell that it is not root. Nothing in the image is this user's: the root may be read-only.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/lethe"]
CMD ["--help"]
