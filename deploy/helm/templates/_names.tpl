{{/* The name of all resources. Alerts need `gitops-connect` in the name of the Service. */}}
{{- define "gitops-connect.name" -}}
{{- if contains "gitops-connect" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-gitops-connect{{ end }}
{{- end }}

{{- define "gitops-connect.selector" -}}
app.kubernetes.io/name: gitops-connect
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Every file begins with it, so that the checks come before all other errors. */}}
{{- define "gitops-connect.metadata" -}}
{{- include "gitops-connect.checks" . -}}
name: {{ include "gitops-connect.name" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "gitops-connect.selector" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "gitops-connect.claim" -}}
{{ .Values.storage.existingClaim | default (include "gitops-connect.name" .) }}
{{- end }}

{{- define "gitops-connect.sqlite" -}}
{{ if hasPrefix "sqlite" .Values.settings.state.url }}true{{ end }}
{{- end }}

{{/* The settings that need a restart. The daemon takes up the others when the kubelet has updated their file. */}}
{{- define "gitops-connect.restarting" -}}
{{- $clusters := dict }}
{{- range $name, $cluster := .Values.settings.clusters }}
{{- $_ := set $clusters $name (pick $cluster "strimzi" "require_exactly_once") }}
{{- end }}
{{- $daemon := pick (.Values.settings.daemon | default dict) "log_format" }}
{{- $repository := omit .Values.settings.repository "interval" }}
{{- toJson (list (omit .Values.settings "clusters" "daemon" "repository" "secrets") $clusters $daemon $repository) }}
{{- end }}

{{/* The server's port; empty if there is no server. */}}
{{- define "gitops-connect.port" -}}
{{ (.Values.settings.server | default dict).listen | default "" | regexFind "[0-9]+$" }}
{{- end }}

{{/* The host of the server for others. */}}
{{- define "gitops-connect.host" -}}
{{ (urlParse .Values.settings.server.public_url).hostname }}
{{- end }}

{{/* A duration of the settings in whole seconds. */}}
{{- define "gitops-connect.seconds" -}}
{{- $factors := dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0 "d" 86400.0 }}
{{- $seconds := 0.0 }}
{{- range regexFindAll "[0-9.]+(ms|[smhd]|$)" (toString .) -1 }}
{{- $unit := regexFind "[a-z]*$" . }}
{{- $seconds = addf $seconds (mulf (trimSuffix $unit . | float64) (get $factors ($unit | default "s"))) }}
{{- end }}
{{- ceil $seconds | int }}
{{- end }}

{{- define "gitops-connect.grace" -}}
{{- $daemon := .Values.settings.daemon | default dict }}
{{- $shutdown := include "gitops-connect.seconds" (dig "shutdown_timeout" "25s" $daemon) | int }}
{{- $grace := .Values.terminationGracePeriodSeconds | default (add $shutdown 5) | int }}
{{- if le $grace $shutdown }}
{{- fail (printf "terminationGracePeriodSeconds: expected more than settings.daemon.shutdown_timeout (%d seconds), found %d" $shutdown $grace) }}
{{- end }}
{{- $grace }}
{{- end }}
