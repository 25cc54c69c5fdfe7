# The image of the daemon, `gitops-connect run`. To build, configure and stop it: docs/reference/container-image.md

# A Debian image with Python 3.11 or newer and its venv module. Both stages use the same base image.
ARG BASE=python:3.13-slim-trixie


FROM ${BASE} AS build

# Bytecode is written without times, and wheels are built with the time of SOURCE_DATE_EPOCH: the layers of two builds are
# equal.
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PYTHONDONTWRITEBYTECODE=1
ARG SOURCE_DATE_EPOCH

# pip and what builds wheels have their own environment, so that the final image does not contain them. requirements.txt
# has the hash of every package, and pip rejects a file with another hash.
WORKDIR /src
COPY pyproject.toml requirements.txt deploy/locked_requirements.py ./
RUN python3 -m venv /opt/pip \
    && python3 -m venv --without-pip /opt/gitops-connect \
    && python3 locked_requirements.py build > build.txt \
    && /opt/pip/bin/pip install --require-hashes --no-deps --requirement build.txt

# Further extras of pyproject.toml, separated by spaces: `spark` to check large offset manifests, `spark-connect` to check them
# on a Spark Connect server.
ARG EXTRAS=""

# The dependencies are installed first: they are the largest part of the image, and they change least often.
RUN python3 locked_requirements.py lean server ${EXTRAS} > dependencies.txt \
    && /opt/pip/bin/pip wheel --no-build-isolation --require-hashes --no-deps --wheel-dir /wheels \
        --requirement dependencies.txt \
    && /opt/pip/bin/pip --python /opt/gitops-connect/bin/python install --no-compile --no-index --no-deps /wheels/*.whl \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/gitops-connect

# The project is installed into a separate directory, so that it becomes a small layer of the final image.
COPY README.md LICENSE ./
COPY schemas/ schemas/
COPY gitops_connect/ gitops_connect/
RUN /opt/pip/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /dist . \
    && /opt/pip/bin/pip --python /opt/gitops-connect/bin/python install --no-compile --no-index --no-deps --prefix /opt/project /dist/*.whl \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/project


FROM ${BASE}

# A Debian package with Java 21 or newer, such as openjdk-21-jre-headless: for Spark without a Spark Connect server.
ARG JAVA=""
ARG SOURCE_DATE_EPOCH

# Versions are not pinned: Debian removes versions with security holes, and a build should get the fixed versions.
# Slim images have no directory for manual pages, and Java's package cannot be installed without it. Logs and caches are
# removed because they contain times. useradd writes the day of SOURCE_DATE_EPOCH to /etc/shadow.
# hadolint ignore=DL3008
RUN apt-get update \
    && mkdir -p /usr/share/man/man1 \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client tini ${JAVA} \
    && apt-get clean \
    && groupadd --gid 10001 gitops-connect \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/gitops-connect --shell /usr/sbin/nologin gitops-connect \
    && install --directory --owner 10001 --group 10001 --mode 0750 /var/lib/gitops-connect \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache \
        /var/lib/dpkg/*-old /etc/*- /tmp/* \
    && find /var/log -type f -delete

COPY --from=build /opt/gitops-connect/ /opt/gitops-connect/
COPY --from=build /opt/project/ /opt/gitops-connect/

# ssh reads the home directory from /etc/passwd, not from HOME; both are the same. Do not set a setting here: it would
# override the settings file without a message.
ENV PATH=/opt/gitops-connect/bin:${PATH} \
    HOME=/var/lib/gitops-connect \
    GITOPS_CONNECT_CACHE=/var/lib/gitops-connect/cache \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1

ARG BASE
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
ARG CREATED=unknown
LABEL org.opencontainers.image.title="gitops-connect" \
      org.opencontainers.image.description="Keeps Kafka Connect clusters in sync with a Git repository" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.url="${SOURCE}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE}"

# The ledger, its key and the clone. The settings file is here by default, and the ledger is created next to that file.
VOLUME /var/lib/gitops-connect
WORKDIR /var/lib/gitops-connect
USER 10001:10001

# Process 1 is tini, for two reasons. The kernel drops a SIGTERM to process 1 until it has a handler. If a Git process
# is ended, process 1 inherits its child processes, which Python would never reap.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "gitops-connect"]
CMD ["run"]
