package checkpoint

import "strconv"

// MetaProperties is a parsed meta.properties.
type MetaProperties struct {
	Version     int    // 0 (also if absent) or 1; as written if it is another number
	NodeID      int32  // valid if HasNodeID
	HasNodeID   bool   // false is well formed in version 0; a broker still refuses to start
	ClusterID   string // empty if absent
	DirectoryID string // as written, empty if absent
	// Properties holds every key, a repeated one with its last value; with a malformed
	// escape, those before it. Nil if there are none.
	Properties map[string]string
	Malformed  *Malformed // nil if Kafka accepts the file
}

// ParseMetaProperties reads a meta.properties (PropertiesUtils.readPropertiesFile,
// MetaProperties.Builder):
//
//	#                              comments
//	#Fri Sep 13 20:52:49 UTC 2024
//	node.id=1                      version 1; broker.id in version 0
//	version=1
//	cluster.id=4L6g3nShT-eMCtK--X86sw
//	directory.id=k_kCGHpPRjy0p5hJuSmcCA
//
// Kafka takes the id from node.id in version 1 and from broker.id in version 0;
// where that key is missing the other one is taken here. All its refusals are
// unchecked exceptions, and the reader (MetaPropertiesEnsemble.Loader) treats
// them like an IOException: the log directory counts as failed.
func ParseMetaProperties(b []byte) *MetaProperties {
	m := &MetaProperties{}
	type place struct {
		line int
		text []byte
	}
	where := map[string]place{}
	fail := func(key, reason string) {
		if m.Malformed != nil {
			return
		}
		p, ok := where[key]
		if !ok {
			p.line = countLines(b)
		}
		m.Malformed = unchecked(p.line, p.text, reason)
	}
	for _, p := range parseProperties(b) {
		if p.err != nil {
			m.Malformed = unchecked(p.line, p.text, p.err.Error())
			break
		}
		if m.Properties == nil {
			m.Properties = map[string]string{}
		}
		m.Properties[p.key] = p.value
		where[p.key] = place{p.line, p.text}
	}

	version, known := int32(0), true
	if v, present := m.Properties["version"]; present {
		// MetaPropertiesVersion.fromNumberString
		n, ok := parseInt([]byte(v))
		if ok {
			version = n
		}
		if known = ok && (n == 0 || n == 1); !known {
			fail("version", "unknown version "+strconv.QuoteToASCII(clip([]byte(v)))+", want 0 or 1")
		}
	}
	m.Version = int(version)

	own, other := "broker.id", "node.id"
	if version != 0 {
		own, other = other, own
	}
	m.readNodeID(own, func(reason string) { fail(own, reason) })
	if _, present := m.Properties[own]; !present {
		if version != 0 {
			fail(own, own+" is missing")
		}
		m.readNodeID(other, func(string) {})
	}

	clusterID, hasCluster := m.Properties["cluster.id"]
	m.ClusterID = clusterID
	if id, present := m.Properties["directory.id"]; present {
		m.DirectoryID = id
		if _, ok := parseUUID(id); !ok {
			fail("directory.id", "directory.id is not a UUID in base64")
		}
	}
	if !hasCluster && version != 0 {
		fail("cluster.id", "cluster.id is missing")
	}
	return m
}

func (m *MetaProperties) readNodeID(key string, fail func(reason string)) {
	text, present := m.Properties[key]
	if !present {
		return
	}
	id, ok := parseInt([]byte(text))
	if !ok {
		fail(key + " is not a 32-bit number: " + strconv.QuoteToASCII(clip([]byte(text))))
		return
	}
	m.NodeID, m.HasNodeID = id, true
}

// countLines returns the number of the last line, at least 1.
func countLines(b []byte) int {
	r := newLineReader(b)
	for {
		if _, ok, _ := r.next(); !ok {
			return max(r.line, 1)
		}
	}
}
