{{/* What the daemon, the init container and `helm test` share. */}}
{{- define "gitops-connect.container" -}}
image: {{ .Values.image | quote }}
env:
  - {name: GITOPS_CONNECT_CONFIG, value: /etc/gitops-connect/gitops-connect.toml}
  {{- range $name := keys .Values.env | sortAlpha }}
  {{- $value := get $.Values.env $name }}
  - name: {{ $name }}
    {{- if kindIs "string" $value }}
    value: {{ $value | quote }}
    {{- else }}
    valueFrom: {secretKeyRef: {name: {{ $value.secret | quote }}, key: {{ $value.key | quote }}}}
    {{- end }}
  {{- end }}
resources: {{ toYaml .Values.resources | nindent 2 }}
securityContext:
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: state, mountPath: /var/lib/gitops-connect}
  - {name: tmp, mountPath: /tmp}
  - {name: settings, mountPath: /etc/gitops-connect, readOnly: true}
  {{- range .Values.secrets }}
  - {name: secret-{{ . | replace "." "-" }}, mountPath: /run/secrets/{{ . }}, readOnly: true}
  {{- end }}
{{- end }}

{{- define "gitops-connect.pod" -}}
serviceAccountName: {{ include "gitops-connect.name" . }}
automountServiceAccountToken: {{ hasPrefix "k8s://" (include "gitops-connect.spark" .) }}
securityContext:
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  runAsNonRoot: true
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: state
    {{- if include "gitops-connect.sqlite" . }}
    persistentVolumeClaim: {claimName: {{ include "gitops-connect.claim" . | quote }}}
    {{- else }}
    emptyDir: {}
    {{- end }}
  - {name: tmp, emptyDir: {}}
  - {name: settings, configMap: {name: {{ include "gitops-connect.name" . }}}}
  {{- range .Values.secrets }}
  - {name: secret-{{ . | replace "." "-" }}, secret: {secretName: {{ . }}}}
  {{- end }}
{{- end }}

{{- define "gitops-connect.spark" -}}
{{ (.Values.settings.spark | default dict).master }}
{{- end }}
