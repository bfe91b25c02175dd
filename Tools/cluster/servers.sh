# The servers of Tools/run-cluster, which reads this file. It sets `data`, the directory, `base`, the first port, and
# `stopping`, which is yes after a signal.
#
# A server has a name: zookeeper, clickhouse-1 to clickhouse-3, postgresql, s3, haproxy, collector-N, agent-N. For each
# name DIR has
#   NAME.command    a program that starts it in the foreground
#   NAME.pid        the id of its process
#   NAME.log        what it prints
#   NAME/           its data and its configuration
# and for each kind of server there are two functions here: make_KIND writes configuration and command, and ready_KIND
# says whether it answers.

replicas=(clickhouse-1 clickhouse-2 clickhouse-3)
servers=(zookeeper postgresql s3 "${replicas[@]}")
postgresql_programs=/usr/lib/postgresql/15/bin
clean=(env -i PATH=/usr/bin:/bin:/usr/sbin LC_ALL=C TZ=UTC)

kind() { echo "${1%-[0-9]}"; }

# The ports are fixed distances from the first one, so that a restarted server keeps its port.
ports=22
port() { # name: its port. A replica has two more after it: for the native protocol, and for other replicas
    case $1 in
    haproxy) echo "$base" ;;
    collector-*) echo $((base + ${1#*-})) ;;
    s3) echo $((base + 10)) ;;
    postgresql) echo $((base + 11)) ;;
    zookeeper) echo $((base + 12)) ;;
    clickhouse-*) echo $((base + 10 + 3 * ${1#*-})) ;;
    esac
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# MARK: Processes

find_process() { # name: sets `process` to its id; fails if it does not run
    local words status
    read -r process 2>/dev/null <"$data/$1.pid" || return 1
    for _ in {1..100}; do
        { mapfile -d '' words <"/proc/$process/cmdline" && read -r status <"/proc/$process/stat"; } 2>/dev/null ||
            return 1
        # The id may belong to another process by now. Each server's command names its files.
        [ -z "${words[*]}" ] || { [[ "${words[*]}" == *"$data/$1"* ]]; return; }
        # Nothing: it has ended (Z), or it is about to run another program.
        [[ $status != *") Z "* ]] || return 1
        sleep 0.01
    done
    return 1
}

write_command() { # name, words of the command
    local name=$1
    shift
    { printf '#!/bin/bash\nexec'; printf ' %q' "$@"; echo; } >"$data/$name.command.new"
    chmod 700 "$data/$name.command.new"
    mv "$data/$name.command.new" "$data/$name.command"
}

launch() { # name
    # A session of its own, so that Ctrl-C at the terminal reaches only the script, which stops all in order. bash makes
    # a program in the background ignore signals. The lock (9) belongs to the script alone.
    setsid env --default-signal=INT,QUIT,TERM "$data/$1.command" </dev/null >>"$data/$1.log" 2>&1 9>&- &
    local child=$!
    echo "$child" >"$data/$1.pid.new"
    mv "$data/$1.pid.new" "$data/$1.pid"
    # The process is a copy of this script at first.
    for _ in {1..500}; do find_process "$1" || ! kill -0 "$child" 2>/dev/null && break; sleep 0.02; done
}

log_end() { # name: the end of its log
    echo "--- $data/$1.log" >&2
    tail -20 "$data/$1.log" >&2
}

start() { # name: starts it if it does not run, and waits until it answers
    local tenths starts=1
    find_process "$1" || launch "$1"
    for ((tenths = 0; tenths < 600; tenths++)); do
        [ "$stopping" = no ] || return 1
        "ready_$(kind "$1")" "$1" >/dev/null 2>&1 && find_process "$1" && return 0
        if ! find_process "$1"; then
            # After a kill, PostgreSQL refuses to start until the last of its former processes has ended. A replica
            # with tables ends if ZooKeeper does not answer.
            case $1 in postgresql | clickhouse-*) ((starts++ < 20)) ;; *) false ;; esac || break
            sleep 1
            launch "$1"
        fi
        sleep 0.1
    done
    log_end "$1"
    echo "run-cluster: $1 $(find_process "$1" && echo "does not answer after 60 s" || echo "ended at its start");" \
        "see $data/$1.log" >&2
    return 1
}

signal_end() { # name: asks it to end. A frozen process goes on first
    kill -CONT "$process" 2>/dev/null || true
    # INT: PostgreSQL ends its sessions. With TERM it would wait for them.
    if [ "$1" = postgresql ]; then kill -INT "$process"; else kill -TERM "$process"; fi 2>/dev/null || true
}

await_end() { # name, seconds: kills it after that time; its exit status, if it is a child of this script
    local tenths child=$process status=0
    for ((tenths = 0; tenths < 10 * $2; tenths++)); do find_process "$1" || break; sleep 0.1; done
    if find_process "$1"; then
        echo "run-cluster: $1 did not end within $2 s; killed" >&2
        kill -KILL "$process" 2>/dev/null || true
        while find_process "$1"; do sleep 0.1; done
    fi
    wait "$child" 2>/dev/null || status=$?
    [ "$status" = 127 ] || return "$status"
}

stop() { # names: ends them together. Fails if one of them fails or has to be killed
    local each failed=0 status
    local -A running=()
    for each in "$@"; do
        find_process "$each" || continue
        running[$each]=$process
        signal_end "$each"
    done
    for each in "$@"; do
        [ -n "${running[$each]:-}" ] || continue
        status=0 process=${running[$each]}
        await_end "$each" 60 || status=$?
        # 143: by the signal itself, as Java and Python end.
        if [ "$status" != 0 ] && [ "$status" != 143 ]; then
            failed=1
            echo "run-cluster: $each ended with status $status; see $data/$each.log" >&2
        fi
    done
    return "$failed"
}

stop_all() { # those before that need those after
    local pattern file failed=0 names
    # A replica whose session with ZooKeeper does not end in order counts as inactive for a while after its next start.
    for pattern in 'agent-?' 'collector-?' haproxy 'clickhouse-?' '*'; do
        names=()
        for file in "$data"/$pattern.command; do [ ! -e "$file" ] || names+=("$(basename "$file" .command)"); done
        stop "${names[@]}" || failed=1
    done
    return "$failed"
}

# MARK: Files

fill() { # template, file, NAME=VALUE...: replaces @NAME@, @DATA@ and @SECRET@
    local text pair
    text=$(<"Tools/cluster/$1")
    for pair in "${@:3}" "DATA=$data" "SECRET=$secret"; do text=${text//"@${pair%%=*}@"/"${pair#*=}"}; done
    printf '%s\n' "$text" >"$2"
}

make_secrets() { # one password for all servers of this directory
    [ -s "$data/secret" ] || od -An -N 24 -tx1 /dev/urandom | tr -d ' \n' >"$data/secret"
    secret=$(<"$data/secret")
    echo "127.0.0.1:*:*:*:$secret" >"$data/pgpass"
    printf '%s\n' '[default]' 'aws_access_key_id = collector' "aws_secret_access_key = $secret" \
        >"$data/bucket-credentials"
}

# MARK: ZooKeeper

make_zookeeper() {
    local jar jars=()
    mkdir -p "$data/zookeeper"
    fill zookeeper.cfg "$data/zookeeper/zoo.cfg" "PORT=$(port zookeeper)"
    for jar in zookeeper zookeeper-jute slf4j-api slf4j-simple netty-all netty-handler netty-common netty-buffer \
        netty-codec netty-transport netty-resolver metrics-core snappy-java jetty9-server; do
        jars+=("/usr/share/java/$jar.jar")
    done
    # Its files need to outlive a kill, not a power cut (forceSync).
    write_command zookeeper "${clean[@]}" java -Xms16m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dzookeeper.forceSync=no -Dzookeeper.admin.enableServer=false -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$(IFS=:; echo "${jars[*]}")" org.apache.zookeeper.server.ZooKeeperServerMain "$data/zookeeper/zoo.cfg"
}

ready_zookeeper() { # its answer to `srvr` names its mode
    timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$(port zookeeper) && echo srvr >&3 && grep ^Mode: <&3"
}

# MARK: ClickHouse

make_clickhouse() { # name
    local port
    port=$(port "$1")
    mkdir -p "$data/$1"
    chmod 700 "$data/$1"
    fill clickhouse.xml "$data/$1/config.xml" "NAME=$1" "PORT=$port" "NATIVE_PORT=$((port + 1))" \
        "INTERSERVER_PORT=$((port + 2))" "ZOOKEEPER_PORT=$(port zookeeper)"
    fill clickhouse-users.xml "$data/$1/users.xml" "PASSWORD_SHA256=$(printf %s "$secret" | sha256sum | cut -d' ' -f1)"
    write_command "$1" "${clean[@]}" /usr/sbin/clickhouse-server "--config-file=$data/$1/config.xml"
}

ready_clickhouse() { curl -fsS -m 2 "http://127.0.0.1:$(port "$1")/ping"; }

# MARK: PostgreSQL

# PostgreSQL refuses to run as root.
as_postgres=()
[ "$(id -u)" != 0 ] || as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups)

make_postgresql() {
    if [ ! -s "$data/postgresql/PG_VERSION" ]; then
        rm -rf "$data/postgresql"
        mkdir -m 700 "$data/postgresql"
        echo "$secret" >"$data/postgresql.password"
        if [ ${#as_postgres[@]} -gt 0 ]; then
            chown postgres:postgres "$data/postgresql" "$data/postgresql.password"
            chmod a+x "$data"
            "${as_postgres[@]}" test -w "$data/postgresql" || fail "the user postgres cannot reach $data;" \
                "choose another directory with --data, or open those above it"
        fi
        (cd / && "${as_postgres[@]}" "${clean[@]}" "$postgresql_programs/initdb" --pgdata "$data/postgresql" \
            --username=postgres --auth=scram-sha-256 --pwfile="$data/postgresql.password" --encoding=UTF8 --locale=C \
            --no-instructions) >>"$data/postgresql.log" 2>&1 || { log_end postgresql; fail "initdb failed"; }
        rm "$data/postgresql.password"
    fi
    fill postgresql.conf "$data/postgresql.conf" "PORT=$(port postgresql)"
    chmod 644 "$data/postgresql.conf"
    write_command postgresql "${as_postgres[@]}" "${clean[@]}" "$postgresql_programs/postgres" -D "$data/postgresql" \
        "--config-file=$data/postgresql.conf"
}

ready_postgresql() { "$postgresql_programs/pg_isready" -q -t 2 -h 127.0.0.1 -p "$(port postgresql)"; }

as_administrator() { # arguments of psql
    psql -XAtq -v ON_ERROR_STOP=1 \
        "host=127.0.0.1 port=$(port postgresql) user=postgres dbname=postgres passfile=$data/pgpass" "$@"
}

make_database() { # the collectors' role owns it, and has no other rights
    [ "$(as_administrator -c "SELECT count(*) FROM pg_roles WHERE rolname = 'ws1'")" = 1 ] ||
        as_administrator <<<"CREATE ROLE ws1 LOGIN PASSWORD '$secret'"
    [ "$(as_administrator -c "SELECT count(*) FROM pg_database WHERE datname = 'ws1'")" = 1 ] ||
        as_administrator -c "CREATE DATABASE ws1 OWNER ws1 TEMPLATE template0"
}

# MARK: The S3 server

make_s3() {
    # The directory in it is the bucket. The server ends with its standard input: this one never ends.
    mkdir -p "$data/s3/ws1-logs"
    chmod 700 "$data/s3"
    [ -p "$data/s3.input" ] || mkfifo -m 600 "$data/s3.input"
    write_command s3 bash -c 'exec "$@" 0<>"$0"' "$data/s3.input" "$PWD/.build/moto/bin/python" -B \
        "$PWD/Tools/moto-server.py" "$(port s3)" --credentials "$data/bucket-credentials" --objects "$data/s3"
}

ready_s3() { listens "$(port s3)"; }

# MARK: Collectors, haproxy and agents

clickhouse_urls() { # the number of the replica that is asked first
    local each urls=()
    for each in 0 1 2; do urls+=("http://127.0.0.1:$(port "${replicas[($1 - 1 + each) % 3]}")"); done
    (IFS=,; echo "${urls[*]}")
}

make_configuration() { # DIR/collector.yaml, for `serve` and all other commands
    fill collector.yaml "$data/collector.yaml" "CLICKHOUSE_URLS=$(clickhouse_urls 1)" \
        "POSTGRESQL_PORT=$(port postgresql)" "S3_PORT=$(port s3)"
}

make_collector() { # name
    # Each prefers another replica, as in production.
    write_command "$1" "$collector" serve --config "$data/collector.yaml" --data "$data/$1" \
        --listen "127.0.0.1:$(port "$1")" --assets "$data/assets" --clickhouse-urls "$(clickhouse_urls "${1#*-}")"
}

ready_collector() { curl -fsS -m 5 "http://127.0.0.1:$(port "$1")/readyz"; }

make_haproxy() { # names of the collectors
    local name
    mkdir -p "$data/haproxy"
    fill haproxy.cfg "$data/haproxy/haproxy.cfg" "PORT=$(port haproxy)"
    for name in "$@"; do echo "    server $name 127.0.0.1:$(port "$name")"; done >>"$data/haproxy/haproxy.cfg"
    write_command haproxy "${clean[@]}" /usr/sbin/haproxy -db -f "$data/haproxy/haproxy.cfg"
}

ready_haproxy() { listens "$(port haproxy)"; }

make_agent() { # name
    write_command "$1" "$agent" run --data "$data/$1" --collector "$url" \
        --enrollment-token-file "$data/enrollment-token" --sample-interval 1 --transmit-interval 5 --event-hold 0
}

ready_agent() { # it accepts events once it has its organization's profile
    [ -S "$data/$1/control.sock" ] && "$agent" status --json --data "$data/$1" | jq -e '.profile.revision > 0'
}
