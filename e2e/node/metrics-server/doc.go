// Package metricsserver pins the version of metrics-server that the real node of the tests runs, as a tool of this
// module. There is no code of ours here.
package metricsserver
