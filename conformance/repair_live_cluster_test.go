package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// liveNode is a broker that runs on given log directories.
type liveNode struct {
	id   int
	dirs []string
	port int
	cmd  *exec.Cmd
	over chan error
}

// liveCluster is a set of brokers on this machine whose topics exist before the first of them
// starts: the metadata are written, not asked for.
type liveCluster struct {
	t       *testing.T
	dir     string
	release liveRelease
	nodes   []*liveNode
	client  *liveClient

	controller int // its port, or that of ZooKeeper
	zooKeeper  *liveNode
}

// liveTopic is a topic with one partition that a cluster begins with.
type liveTopic struct {
	Name     string            `json:"name"`
	ID       string            `json:"id"`
	Replicas []int             `json:"replicas"`
	ISR      []int             `json:"isr"`
	Dirs     []*string         `json:"dirs"` // directory ids, one a replica; nil: it has none yet
	Epoch    int               `json:"epoch"`
	Config   map[string]string `json:"config"`
}

const liveID = "kafsckBaseFixtures0001" // of clusters: that of the recordings in fixtures/base

// patience is for a machine on which others compute too.
const patience = 5 * time.Minute

// newLiveCluster lays out brokers; the last one is the controller too, where there is no ZooKeeper.
func newLiveCluster(t *testing.T, dir string, release liveRelease) *liveCluster {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(release.libs, "kafka_2.1*.jar")); err != nil || len(found) == 0 {
		t.Fatalf("no Kafka in %s: run.sh fetches the jars for the lab that lies beside the clone (%v)", release.libs, err)
	}
	c := &liveCluster{t: t, dir: dir, release: release, client: startLiveClient(t)}
	t.Cleanup(func() {
		for _, n := range append(c.nodes, c.zooKeeper) {
			if n != nil && n.cmd != nil {
				n.cmd.Process.Kill()
				<-n.over
			}
		}
	})
	c.controller = freePort(t)
	return c
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// node adds a broker on log directories that are there.
func (c *liveCluster) node(id int, dirs []string) {
	c.nodes = append(c.nodes, &liveNode{id: id, dirs: dirs, port: freePort(c.t)})
}

func (c *liveCluster) metadataDir(id int) string {
	return filepath.Join(c.dir, fmt.Sprintf("metadata-%d", id))
}
func (c *liveCluster) log(id int) string {
	return filepath.Join(c.dir, fmt.Sprintf("server-%d.log", id))
}

// metaProperties makes a log directory of a broker.
func (c *liveCluster) metaProperties(dir string, id int) {
	c.t.Helper()
	text := fmt.Sprintf("version=1\nnode.id=%d\ncluster.id=%s\ndirectory.id=%s\n", id, liveID, uuidOf(dir))
	if c.release.zooKeeper {
		text = fmt.Sprintf("version=0\nbroker.id=%d\ncluster.id=%s\n", id, liveID)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "meta.properties"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// write lays down what the brokers need before they start.
func (c *liveCluster) write(topics []liveTopic) {
	c.t.Helper()
	if c.release.zooKeeper {
		c.writeZooKeeper(topics)
		return
	}
	last := c.nodes[len(c.nodes)-1].id
	for _, n := range c.nodes {
		dir := c.metadataDir(n.id)
		c.metaProperties(dir, n.id)
		roles, listeners := "broker", fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port)
		if n.id == last {
			roles, listeners = "broker,controller", fmt.Sprintf("%s,CONTROLLER://127.0.0.1:%d", listeners, c.controller)
		}
		c.properties(n, map[string]string{
			"process.roles": roles, "node.id": fmt.Sprint(n.id), "listeners": listeners, "metadata.log.dir": dir,
			"controller.quorum.voters":               fmt.Sprintf("%d@127.0.0.1:%d", last, c.controller),
			"controller.listener.names":              "CONTROLLER",
			"listener.security.protocol.map":         "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
			"broker.heartbeat.interval.ms":           "500",
			"broker.session.timeout.ms":              "10000",
			"initial.broker.registration.timeout.ms": "180000",
		})
	}
	c.client.ask(map[string]any{"do": "bootstrap", "dir": c.metadataDir(last), "version": c.release.name + "-IV0", "topics": topics})
}

// properties writes server.properties of a broker.
func (c *liveCluster) properties(n *liveNode, own map[string]string) {
	c.t.Helper()
	all := map[string]string{
		"log.dirs":                          strings.Join(n.dirs, ","),
		"advertised.listeners":              fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port),
		"listener.security.protocol.map":    "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"auto.create.topics.enable":         "false",
		"log.retention.ms":                  "-1", // the records of the recordings are old
		"log.cleaner.dedupe.buffer.size":    "4194304",
		"log.index.size.max.bytes":          "65536",
		"num.recovery.threads.per.data.dir": "1",
		"num.network.threads":               "2",
		"num.io.threads":                    "4",
		"background.threads":                "2",
		"replica.fetch.wait.max.ms":         "100",
		"offsets.topic.replication.factor":  "1",
	}
	maps.Copy(all, own)
	var text strings.Builder
	for k, v := range all {
		fmt.Fprintf(&text, "%s=%s\n", k, v)
	}
	if err := os.WriteFile(filepath.Join(c.dir, fmt.Sprintf("server-%d.properties", n.id)), []byte(text.String()), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *liveCluster) byID(id int) *liveNode {
	return c.nodes[slices.IndexFunc(c.nodes, func(n *liveNode) bool { return n.id == id })]
}

// java starts a JVM with the jars of the release; its output is appended to a file.
func (c *liveCluster) java(output string, args ...string) (*exec.Cmd, chan error) {
	c.t.Helper()
	logging, err := filepath.Abs("live")
	if err != nil {
		c.t.Fatal(err)
	}
	out, err := os.OpenFile(output, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("java", append([]string{"-Xmx384M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Dlog4j2.configurationFile=" + logging + "/log4j2.properties", "-Dlog4j.configuration=file:" + logging + "/log4j.properties",
		"-cp", c.release.libs + "/*" + string(filepath.ListSeparator) + ourClasses, "Node"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	return cmd, over
}

func (c *liveCluster) start(id int) {
	c.t.Helper()
	n := c.byID(id)
	n.cmd, n.over = c.java(c.log(id), "kafka.Kafka", filepath.Join(c.dir, fmt.Sprintf("server-%d.properties", id)))
}

// stop shuts a broker down as its operator would.
func (c *liveCluster) stop(id int) {
	c.t.Helper()
	n := c.byID(id)
	n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.over:
	case <-time.After(patience):
		n.cmd.Process.Kill()
		<-n.over
		c.t.Errorf("broker %d does not stop", id)
	}
	n.cmd = nil
}

// servers are the addresses of the brokers that run.
func (c *liveCluster) servers() string {
	var out []string
	for _, n := range c.nodes {
		if n.cmd != nil {
			out = append(out, fmt.Sprintf("127.0.0.1:%d", n.port))
		}
	}
	return strings.Join(out, ",")
}

// inSync waits until all replicas of all topics on the brokers that run are in sync, and returns the topics
// that have a leader. What is damaged still may never be followed to its end: for those it waits a few
// seconds only.
func (c *liveCluster) inSync(topics []liveTopic, damaged map[string]bool) (led []string) {
	c.t.Helper()
	var names []string
	for _, x := range topics {
		names = append(names, x.Name)
	}
	end := time.Now().Add(patience)
	var missing []string
	var rest time.Time // since when nothing but damaged topics is missing
	for {
		for _, n := range c.nodes {
			if n.cmd == nil {
				continue
			}
			select {
			case err := <-n.over:
				n.cmd = nil
				c.t.Fatalf("broker %d stopped (%v):\n%s", n.id, err, strings.Join(tail(c.read(n.id), 30), "\n"))
			default:
			}
		}
		a, err := c.client.try(map[string]any{"do": "describe", "servers": c.servers(), "topics": names})
		missing, led = nil, nil
		others := false
		if err != nil {
			missing, others = []string{err.Error()}, true
		} else {
			var got map[string]struct {
				Leader int
				ISR    []int
			}
			if err := json.Unmarshal(a["partitions"], &got); err != nil {
				c.t.Fatal(err)
			}
			for _, x := range topics {
				if got[x.Name].Leader >= 0 {
					led = append(led, x.Name)
				}
				want := slices.DeleteFunc(slices.Clone(x.Replicas), func(id int) bool { return c.byID(id).cmd == nil })
				if g := got[x.Name]; g.Leader < 0 || !slices.Equal(g.ISR, want) {
					missing = append(missing, fmt.Sprintf("%s: leader %d, ISR %v, want %v", x.Name, g.Leader, g.ISR, want))
					// Where no follower got past the damage nobody leads while the one that has it all is down.
					nobody := len(g.ISR) > 0 && !slices.ContainsFunc(g.ISR, func(id int) bool { return c.byID(id).cmd != nil })
					others = others || !damaged[x.Name] || g.Leader < 0 && !nobody
				}
			}
		}
		switch {
		case others:
			rest = time.Time{}
		case rest.IsZero():
			rest = time.Now()
		}
		if len(missing) == 0 || !others && time.Since(rest) > 5*time.Second {
			return led
		}
		if time.Now().After(end) {
			c.t.Fatalf("not in sync:\n%s", strings.Join(missing, "\n"))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// read is the log of a broker.
func (c *liveCluster) read(id int) string {
	c.t.Helper()
	b, err := os.ReadFile(c.log(id))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func tail(text string, n int) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[max(0, len(lines)-n):]
}

// liveClient is java/BrokerClient.java under way.
type liveClient struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func startLiveClient(t *testing.T) *liveClient {
	t.Helper()
	if err := needJars(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("java", "-Xmx384M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath(ourClasses), "BrokerClient")
	cmd.Stderr = os.Stderr
	in, out := startPiped(t, cmd)
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &liveClient{t, in, bufio.NewReaderSize(out, 1<<20)}
}

func (c *liveClient) try(request map[string]any) (answer map[string]json.RawMessage, err error) {
	c.t.Helper()
	b, err := json.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.in.Write(append(b, '\n')); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &answer); err != nil {
		c.t.Fatalf("%v: %s", err, line)
	}
	if e, ok := answer["error"]; ok {
		return answer, errors.New(string(e))
	}
	return answer, nil
}

func (c *liveClient) ask(request map[string]any) map[string]json.RawMessage {
	c.t.Helper()
	answer, err := c.try(request)
	if err != nil {
		c.t.Fatalf("%v: %v", request["do"], err)
	}
	return answer
}
