// Reads a ServiceMonitor or a PrometheusRule as the Prometheus Operator does, and rejects fields that it does not know.
package main

import (
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	kinds := map[string]any{"ServiceMonitor": &monitoring.ServiceMonitor{}, "PrometheusRule": &monitoring.PrometheusRule{}}
	if err == nil {
		err = yaml.UnmarshalStrict(text, kinds[os.Args[1]])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
