{{/* The suffix of the names of a shard's objects, so that they differ from those of other releases. */}}
{{- define "baton.suffix" -}}
{{- with .Values.shard }}-{{ . }}{{ end -}}
{{- end }}

{{- define "baton.name" -}}
baton{{ include "baton.suffix" . }}
{{- end }}

{{/* The labels of every object. Selectors use only the first, which never changes. */}}
{{- define "baton.labels" -}}
app.kubernetes.io/name: {{ include "baton.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "baton.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* An object of files/, with this release's labels and its shard's name. Called with the context and the object's text. */}}
{{- define "baton.labelled" -}}
{{- $object := index . 1 | fromYaml -}}
{{- $labels := include "baton.labels" (index . 0) | fromYaml -}}
{{- $_ := set $object.metadata "name" (printf "%s%s" $object.metadata.name (include "baton.suffix" (index . 0))) -}}
{{- $_ := set $object.metadata "labels" (merge $labels ($object.metadata.labels | default dict)) -}}
{{- toYaml $object -}}
{{- end }}
