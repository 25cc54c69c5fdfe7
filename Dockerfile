# The image of the reconciling daemon. docs/reference/container-image.md says how it is built, configured and stopped.

# Any Debian with Python 3.11 or newer and its venv module will do; both stages need the same one.
ARG BASE=python:3.13-slim-bookworm


FROM ${BASE} AS build

# pip stays in an environment of its own, and so out of the final image.
RUN python3 -m venv /opt/pip
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

# Extras of pyproject.toml, with blanks between them: spark where large manifests are checked, spark-connect on a server.
ARG EXTRAS=""

# The dependencies first and by themselves: they are nearly the whole image, and change least often.
RUN python3 -m venv --without-pip /opt/gitops-connect
WORKDIR /src
COPY pyproject.toml requirements.txt ./
RUN EXTRAS="${EXTRAS}" python3 -c 'import os, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
        print(*project["dependencies"], sep="\n"); \
        [print(*project["optional-dependencies"][one], sep="\n") for one in os.environ["EXTRAS"].split()]' \
        > dependencies.txt \
    && /opt/pip/bin/pip --python /opt/gitops-connect/bin/python install \
        --constraint requirements.txt --requirement dependencies.txt

# The project goes into a folder of its own, so that the final image can have it in a small layer of its own.
COPY README.md LICENSE ./
COPY schemas/ schemas/
COPY gitops_connect/ gitops_connect/
RUN /opt/pip/bin/pip wheel --no-deps --wheel-dir /dist . \
    && /opt/pip/bin/pip --python /opt/gitops-connect/bin/python install --no-deps --prefix /opt/project /dist/*.whl


FROM ${BASE}

# The name of a Debian package with a Java runtime, as in default-jre-headless; Spark needs one, but on a Connect server.
ARG JAVA=""

# Versions are not pinned: Debian removes those that had a security hole, and a build should get the mended ones.
# Java's package fails where the folder for its man page is missing, which slim images have not.
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

# HOME is in /etc/passwd too, where ssh looks. No setting is given here: one from the environment would silently win
# over the settings file.
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

# The ledger, its key and the clone. The settings file is looked for here, too, and the ledger is put beside it.
VOLUME /var/lib/gitops-connect
WORKDIR /var/lib/gitops-connect
USER 10001:10001

# Process 1 is tini, because process 1 is special: the kernel drops a SIGTERM that it has no handler for yet, and it
# inherits what a git that had to be ended leaves behind, which Python would never reap.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "gitops-connect"]
CMD ["run"]
