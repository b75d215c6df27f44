// Package helm pins the release of Helm that renders and installs the chart in the tests, as a tool of this module. There
// is no code of ours here.
package helm
