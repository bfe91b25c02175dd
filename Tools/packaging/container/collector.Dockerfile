# The collector in a container. Nothing in it runs as root. The program is built first; it runs without an installed
# Swift:
#   Tools/build-release ws1collector
#   docker build -f Tools/packaging/container/collector.Dockerfile -t ws1collector .build/shipped
#   docker run -v ws1collector:/data -p 8420:8420 ws1collector --tls-certificate /tls/cert.pem --tls-key /tls/key.pem
FROM debian:12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libsqlite3-0 zlib1g libzstd1 libstdc++6 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data collector \
    && install -d -o collector -m 0700 /data
COPY --chmod=0755 ws1collector /usr/bin/ws1collector
COPY share/ws1collector /usr/share/ws1collector
# A number, so that an orchestrator can see that it is not root (runAsNonRoot).
USER 10001
VOLUME /data
EXPOSE 8420
ENV WS1_DATA=/data WS1_LISTEN=0.0.0.0:8420
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/ws1collector", "serve"]
