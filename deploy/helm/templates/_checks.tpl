{{/* Fails with the path of a value that cannot work, and with what is allowed. */}}
{{- define "gitops-connect.checks" -}}
{{- $server := .Values.settings.server | default dict }}
{{- $port := include "gitops-connect.port" . }}
{{- $state := .Values.settings.state | default dict }}
{{- $mount := "sqlite:////var/lib/gitops-connect/" }}
{{- if include "gitops-connect.sqlite" . }}
  {{- if gt (int .Values.replicas) 1 }}
    {{- fail (printf "replicas: expected 1, found %d: settings.state.url is an SQLite ledger; several replicas need postgresql+psycopg://USER@HOST/DATABASE" (int .Values.replicas)) }}
  {{- else if not (hasPrefix $mount $state.url) }}
    {{- fail (printf "settings.state.url: expected a file on the volume, %sstate.db, found %s" $mount $state.url) }}
  {{- end }}
{{- else if not $state.key }}
  {{- fail "settings.state.key: expected {file: PATH} or {env: NAME}: a ledger in PostgreSQL has no file for its key" }}
{{- end }}
{{- if $port }}
  {{- if regexMatch "^(127\\.|localhost:|\\[::1\\])" $server.listen }}
    {{- fail (printf "settings.server.listen: expected 0.0.0.0:PORT or [::]:PORT, found %s: probes cannot reach a loopback address" $server.listen) }}
  {{- else if not (or $server.read_token $server.anonymous_read) }}
    {{- fail "settings.server.read_token: expected {file: PATH} or {env: NAME}, or settings.server.anonymous_read: true" }}
  {{- end }}
{{- else }}
  {{- range $path, $on := dict "ingress.enabled" .Values.ingress.enabled "httpRoute.parentRefs" .Values.httpRoute.parentRefs "monitoring.serviceMonitor" .Values.monitoring.serviceMonitor }}
    {{- if $on }}{{ fail (printf "%s: expected settings.server.listen: without it there is no server" $path) }}{{ end }}
  {{- end }}
{{- end }}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.parentRefs) (not $server.public_url) }}
  {{- fail "settings.server.public_url: expected https://HOST: the Ingress or HTTPRoute has this host" }}
{{- end }}
{{- include "gitops-connect.walk" (dict "root" $ "path" "settings" "value" .Values.settings) }}
{{- end }}

{{/* Checks all credentials, paths and URLs below a value. Messages contain no value that may be a secret. */}}
{{- define "gitops-connect.walk" -}}
{{- $root := .root }}
{{- $path := .path }}
{{- if kindIs "map" .value }}
  {{- $only := and (eq (len .value) 1) (ne $path "settings.secrets") }}
  {{- if and $only (kindIs "string" .value.env) (not (hasKey $root.Values.env (toString .value.env))) }}
    {{- fail (printf "%s.env: expected a variable of `env`, which contains: %s" $path (keys $root.Values.env | sortAlpha | join ", " | default "none")) }}
  {{- end }}
  {{- if and $only (kindIs "string" .value.file) (not (hasPrefix "/run/secrets/" (toString .value.file))) }}
    {{- fail (printf "%s.file: expected /run/secrets/NAME/KEY with a NAME of `secrets`" $path) }}
  {{- end }}
  {{- range $key := keys .value | sortAlpha }}
    {{- include "gitops-connect.walk" (dict "root" $root "path" (printf "%s.%s" $path $key) "value" (get $.value $key)) }}
  {{- end }}
{{- else if kindIs "slice" .value }}
  {{- range $index, $item := .value }}
    {{- include "gitops-connect.walk" (dict "root" $root "path" (printf "%s[%d]" $path $index) "value" $item) }}
  {{- end }}
{{- else if kindIs "string" .value }}
  {{- if regexMatch "://([^/@]*:[^/@]*@|.*[?&;](ssl)?(password|token)=)" .value }}
    {{- fail (printf "%s: expected a URL without a password or token; use a Secret in `secrets` or `env`" $path) }}
  {{- end }}
  {{- $name := regexReplaceAll "^/run/secrets/([^/]*).*" .value "${1}" }}
  {{- if and (hasPrefix "/run/secrets/" .value) (not (has $name $root.Values.secrets)) }}
    {{- fail (printf "%s: expected a Secret of `secrets`, which contains: %s; found %s" $path ($root.Values.secrets | join ", " | default "none") $name) }}
  {{- end }}
{{- end }}
{{- end }}
