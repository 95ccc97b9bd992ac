package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// zooKeeperValue begins a line with the value of a node.
var zooKeeperValue = regexp.MustCompile(`(?m)^\{"`)

// writeZooKeeper starts ZooKeeper and puts the topics there.
func (c *liveCluster) writeZooKeeper(topics []liveTopic) {
	t := c.t
	t.Helper()
	data, output := filepath.Join(c.dir, "zookeeper"), filepath.Join(c.dir, "zookeeper.log")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	c.zooKeeper = &liveNode{port: c.controller}
	c.zooKeeper.cmd, c.zooKeeper.over = c.java(output, "org.apache.zookeeper.server.ZooKeeperServerMain", fmt.Sprint(c.controller), data)
	var commands strings.Builder
	put := func(path string, value any) {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&commands, "create %s %s\n", path, b)
	}
	for _, path := range []string{"/cluster", "/brokers", "/brokers/topics"} {
		fmt.Fprintf(&commands, "create %s\n", path)
	}
	put("/cluster/id", map[string]string{"version": "1", "id": liveID})
	for _, x := range topics {
		at := "/brokers/topics/" + x.Name
		put(at, map[string]any{"version": 3, "topic_id": x.ID, "partitions": map[string][]int{"0": x.Replicas}, "adding_replicas": struct{}{}, "removing_replicas": struct{}{}})
		for _, path := range []string{"/partitions", "/partitions/0"} {
			fmt.Fprintf(&commands, "create %s%s\n", at, path)
		}
		put(at+"/partitions/0/state", map[string]any{"controller_epoch": 1, "leader": -1, "version": 1, "leader_epoch": x.Epoch, "isr": x.ISR})
	}
	// A client that is not connected yet fails in its first commands, and carries out the rest.
	read := "get /cluster/id\n"
	for _, x := range topics {
		read += fmt.Sprintf("get /brokers/topics/%s/partitions/0/state\n", x.Name)
	}
	for end := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) {
		cmd := exec.Command("java", "-Xmx128M", "-cp", c.release.libs+"/*", "org.apache.zookeeper.ZooKeeperMain", "-server", fmt.Sprintf("127.0.0.1:%d", c.controller))
		cmd.Stdin = strings.NewReader(commands.String() + read + "quit\n")
		b, err := cmd.CombinedOutput()
		if err == nil && len(zooKeeperValue.FindAll(b, -1)) == 1+len(topics) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("ZooKeeper: %v\n%s", err, b)
		}
	}
	for _, n := range c.nodes {
		c.properties(n, map[string]string{"broker.id": fmt.Sprint(n.id), "listeners": fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port),
			"zookeeper.connect": fmt.Sprintf("127.0.0.1:%d", c.controller)})
	}
}
