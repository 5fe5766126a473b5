package report

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/redis/go-redis/v9"
)

// unknown stands where the machine does not say.
const unknown = "unknown"

// Machine is what the figures were measured on and with.
type Machine struct {
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	System  string `json:"system"`
	Kernel  string `json:"kernel"`
	Go      string `json:"go"`
	Redis   string `json:"redis"`
	GoRedis string `json:"go_redis"`
	Redsync string `json:"redsync"`
	// Redislock is bsm/redislock, which waits are compared with.
	Redislock string `json:"redislock"`
}

// rows is the table's head, and the machine with its nodes.
func (m Machine) rows(nodes int) [][]string {
	return [][]string{
		{"part", "used"},
		{"CPU", fmt.Sprintf("%s, %d cores", m.CPU, m.Cores)},
		{"system", fmt.Sprintf("%s, %s", m.System, m.Kernel)},
		{"nodes", fmt.Sprintf("%d × %s on loopback, no persistence", nodes, m.Redis)},
		{"go", m.Go},
	}
}

// Describe asks the machine, and the server at addr, what they are. What cannot be
// learned is "unknown".
func Describe(ctx context.Context, addr string) Machine {
	return Machine{
		CPU:     cpuModel(),
		Cores:   runtime.NumCPU(),
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:  kernel(ctx),
		Go:      runtime.Version(),
		Redis:   server(ctx, addr),
		GoRedis: module("github.com/redis/go-redis/v9"),
		Redsync: module("github.com/go-redsync/redsync/v4"),

		Redislock: module("github.com/bsm/redislock"),
	}
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return unknown
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

func kernel(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "uname", "-sr").Output()
	if err != nil {
		return unknown
	}
	return strings.TrimSpace(string(out))
}

func server(ctx context.Context, addr string) string {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return unknown
	}
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return fmt.Sprintf("redis-server %s", strings.TrimSpace(version))
		}
	}
	return unknown
}

func module(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}
	return unknown
}
