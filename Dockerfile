# The image of the daemon, `gitops-connect run`. To build, configure and stop it: docs/reference/container-image.md

# A Debian image with Python 3.11 or newer and its venv module. Both stages use the same base image.
ARG BASE=python:3.13-slim-bookworm


FROM ${BASE} AS build

# pip has its own environment, so that the final image does not contain it.
RUN python3 -m venv /opt/pip
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

# Further extras of pyproject.toml, separated by spaces: `spark` to check large offset manifests, `spark spark-connect` to check
# them on a Spark Connect server.
ARG EXTRAS=""

# The dependencies are installed first: they are the largest part of the image, and they change least often.
RUN python3 -m venv --without-pip /opt/gitops-connect
WORKDIR /src
COPY pyproject.toml requirements.txt ./
RUN EXTRAS="${EXTRAS}" python3 -c 'import os, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
        print(*project["dependencies"], sep="\n"); \
        [print(*project["optional-dependencies"][extra], sep="\n") for extra in ["server", *os.environ["EXTRAS"].split()]]' \
        > dependencies.txt \
    && /opt/pip/bin/pip --python /opt/gitops-connect/bin/python install \
        --constraint requirements.txt --requirement dependencies.txt

# The project is installed into a separate directory, so that it becomes a small layer of the final image.
COPY README.md LICENSE ./
COPY schemas/ schemas/
COPY gitops_connect/ gitops_connect/
RUN /opt/pip/bin/pip wheel --no-deps --wheel-dir /dist . \
    && /opt/pip/bin/pip --python /opt/gitops-connect/bin/python install --no-deps --prefix /opt/project /dist/*.whl


FROM ${BASE}

# A Debian package with a Java runtime, such as default-jre-headless: for Spark without a Spark Connect server.
ARG JAVA=""

# Versions are not pinned: Debian removes versions with security holes, and a build should get the fixed versions.
# Slim images have no directory for manual pages, and Java's package cannot be installed without it.
# hadolint ignore=DL3008
RUN apt-get update \
    && mkdir -p /usr/share/man/man1 \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client tini ${JAVA} \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 gitops-connect \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/gitops-connect --shell /usr/sbin/nologin gitops-connect \
    && install --directory --owner 10001 --group 10001 --mode 0750 /var/lib/gitops-connect

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
LABEL org.opencontainers.image.title="gitops-connect" \
      org.opencontainers.image.description="Keeps Kafka Connect clusters in sync with a Git repository" \
      org.opencontainers.image.licenses="Apache-2.0" \
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
