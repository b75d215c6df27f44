package main

// What upstream's main packages import only for its effect. The registries are process-wide, so one file
// does it for all components.
import (
	// CronJobs name time zones; the machine may have no database of them.
	_ "time/tzdata"

	// --logging-format=json.
	_ "k8s.io/component-base/logs/json/register"
	// The metrics of client-go and of the version, which /metrics of each component has upstream.
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"

	// The authentication plugins of kubectl's kubeconfigs.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
)
