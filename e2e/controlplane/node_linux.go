package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	kubeproxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// What runs on a node, on Linux alone. Beside the others the two add 10 MB and half a minute to the build; as programs of
// their own they would need another 100 MB.
func init() {
	components["kubelet"] = func() { os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background()))) }
	components["kube-proxy"] = func() { os.Exit(cli.Run(kubeproxy.NewProxyCommand())) }
}
