# The agent in a container. Nothing in it runs as root. The program is built first; it runs without an installed Swift:
#   Tools/build-release ws1agent && docker build -f Tools/packaging/container/agent.Dockerfile -t ws1agent .build/shipped
#   docker run -d -v ws1agent:/data -e WS1_ENROLLMENT='https://collector.example:8420#...' ws1agent
# It samples what the container sees of the machine: processors and memory of the machine, file systems and network of
# the container. With `--network host` it is the machine's network.
FROM debian:12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libsqlite3-0 zlib1g libstdc++6 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10002 --home-dir /data agent \
    && install -d -o agent -m 0700 /data
COPY --chmod=0755 ws1agent /usr/bin/ws1agent
# A number, so that an orchestrator can see that it is not root (runAsNonRoot).
USER 10002
VOLUME /data
ENV WS1_DATA=/data
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/ws1agent", "run"]
