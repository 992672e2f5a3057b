# syntax=docker/dockerfile:1
# An image with the program and nothing else: no shell, no libraries, no root. docs/deployment.md explains it.

FROM rust:1-slim-bookworm AS compiled
RUN apt-get update && apt-get install --yes --no-install-recommends musl-tools
RUN rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/source/target \
    cargo build -p tidings-cli --locked --profile dist --target "$(uname -m)-unknown-linux-musl" \
    && mkdir -p /image/usr/bin /image/data /image/backups \
    && cp "target/$(uname -m)-unknown-linux-musl/dist/tidings" /image/usr/bin/tidings

FROM scratch
LABEL org.opencontainers.image.title="tidings" \
      org.opencontainers.image.description="Accounts, analytics, notices, feedback and newsfeeds in one program" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=compiled --chown=0:0 /image/usr /usr
# Volumes begin with the owner of these directories.
COPY --from=compiled --chown=65532:65532 /image/data /data
COPY --from=compiled --chown=65532:65532 /image/backups /backups
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/tidings/
ENV TIDINGS_DB=/data/tidings.db TIDINGS_LISTEN=0.0.0.0:8080
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/bin/tidings", "ready"]
ENTRYPOINT ["/usr/bin/tidings"]
CMD ["serve"]
