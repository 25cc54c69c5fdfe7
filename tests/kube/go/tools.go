//go:build tools

// Programs that are built from their own modules.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
