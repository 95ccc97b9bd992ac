import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Future;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * What the tests with repaired directories ask of clients, in one JVM: a JSON object a line on standard
 * input, its answer as one on standard output.
 *
 *   bootstrap  the file of a new cluster's first metadata, with topics that exist already: their ids, leader
 *              epochs and in-sync replicas
 *   describe   leader and in-sync replicas of all partitions
 *   read       all records of partitions, as read_uncommitted or read_committed
 *   produce    records into partitions, in batches of ten
 */
public class BrokerClient {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                JsonNode q = JSON.readTree(line);
                switch (q.get("do").asText()) {
                    case "bootstrap" -> bootstrap(q);
                    case "describe" -> describe(q, answer);
                    case "read" -> read(q, answer);
                    case "produce" -> produce(q);
                    default -> throw new IllegalArgumentException(line);
                }
            } catch (Exception e) {
                answer.put("error", e.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    /** {"dir", "version": "4.3-IV0", "topics": [{"name", "id", "isr", "replicas", "dirs" (null: not known), "epoch"}]} */
    static void bootstrap(JsonNode q) throws Exception {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        MetadataVersion version = MetadataVersion.fromVersionString(q.get("version").asText(), true);
        add(records, new FeatureLevelRecord().setName(MetadataVersion.FEATURE_NAME).setFeatureLevel(version.featureLevel()), 0);
        for (JsonNode t : q.get("topics")) {
            Uuid id = Uuid.fromString(t.get("id").asText());
            add(records, new TopicRecord().setName(t.get("name").asText()).setTopicId(id), 0);
            List<Uuid> dirs = new ArrayList<>();
            for (JsonNode d : t.get("dirs")) dirs.add(d.isNull() ? DirectoryId.UNASSIGNED : Uuid.fromString(d.asText()));
            // Nobody leads until an in-sync replica is there: then the controller elects it, with a higher epoch.
            add(records, new PartitionRecord().setTopicId(id).setPartitionId(0).setReplicas(ids(t.get("replicas"))).setIsr(ids(t.get("isr")))
                .setLeader(-1).setLeaderEpoch(t.get("epoch").asInt()).setPartitionEpoch(0).setDirectories(dirs), 1);
            for (Map.Entry<String, JsonNode> c : t.get("config").properties())
                add(records, new ConfigRecord().setResourceType((byte) 2).setResourceName(t.get("name").asText()).setName(c.getKey()).setValue(c.getValue().asText()), 0);
        }
        new BootstrapDirectory(q.get("dir").asText()).writeBinaryFile(BootstrapMetadata.fromRecords(records, "test"));
    }

    static void add(List<ApiMessageAndVersion> records, org.apache.kafka.common.protocol.ApiMessage message, int version) {
        records.add(new ApiMessageAndVersion(message, (short) version));
    }

    static List<Integer> ids(JsonNode list) {
        List<Integer> out = new ArrayList<>();
        list.forEach(x -> out.add(x.asInt()));
        return out;
    }

    static Properties common(JsonNode q) {
        Properties p = new Properties();
        p.put("bootstrap.servers", q.get("servers").asText());
        p.put("reconnect.backoff.max.ms", "200");
        p.put("metadata.max.age.ms", "1000");
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        return p;
    }

    static List<TopicPartition> partitions(JsonNode q) {
        List<TopicPartition> out = new ArrayList<>();
        q.get("topics").forEach(t -> out.add(new TopicPartition(t.asText(), 0)));
        return out;
    }

    static void describe(JsonNode q, ObjectNode answer) throws Exception {
        Properties p = common(q);
        p.put("default.api.timeout.ms", "5000");
        p.put("request.timeout.ms", "3000");
        try (Admin admin = Admin.create(p)) {
            List<String> names = new ArrayList<>();
            q.get("topics").forEach(t -> names.add(t.asText()));
            ObjectNode out = answer.putObject("partitions");
            admin.describeTopics(names).allTopicNames().get().forEach((name, d) -> {
                TopicPartitionInfo i = d.partitions().get(0);
                ObjectNode x = out.putObject(name).put("leader", i.leader() == null || i.leader().isEmpty() ? -1 : i.leader().id());
                ArrayNode isr = x.putArray("isr");
                i.isr().stream().map(Node::id).sorted().forEach(isr::add);
            });
        }
    }

    /**
     * One record a line to "out"; the answer has the offsets at which a consumer begins and ends, and for
     * partitions that cannot be read to the end why.
     */
    static void read(JsonNode q, ObjectNode answer) throws Exception {
        Properties p = common(q);
        p.put("isolation.level", q.get("isolation").asText());
        p.put("auto.offset.reset", "none");
        p.put("enable.auto.commit", "false");
        List<TopicPartition> all = partitions(q);
        try (KafkaConsumer<byte[], byte[]> c = new KafkaConsumer<>(p); BufferedWriter w = Files.newBufferedWriter(Path.of(q.get("out").asText()))) {
            c.assign(all);
            Map<TopicPartition, Long> begin = c.beginningOffsets(all), end = c.endOffsets(all);
            begin.forEach(c::seek);
            Set<TopicPartition> open = new HashSet<>(all);
            ObjectNode failed = answer.putObject("failed");
            long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (true) {
                open.removeIf(t -> c.position(t) >= end.get(t));
                if (open.isEmpty() || System.nanoTime() > deadline) break;
                ConsumerRecords<byte[], byte[]> some;
                try {
                    some = c.poll(Duration.ofMillis(200));
                } catch (KafkaException e) {
                    TopicPartition bad = open.stream().filter(t -> e.getMessage().contains(t.toString())).findFirst().orElseThrow(() -> e);
                    failed.put(bad.topic(), e.toString());
                    open.remove(bad);
                    c.assign(open);
                    continue;
                }
                for (ConsumerRecord<byte[], byte[]> r : some) {
                    ObjectNode o = JSON.createObjectNode().put("topic", r.topic()).put("offset", r.offset()).put("leaderEpoch", r.leaderEpoch().orElse(-1))
                        .put("timestampMs", r.timestamp()).put("timestampType", r.timestampType().toString()).put("key", r.key()).put("value", r.value());
                    ArrayNode headers = o.putArray("headers");
                    for (Header h : r.headers())
                        headers.addObject().put("key", h.key()).put("value", h.value() == null ? null : Base64.getEncoder().encodeToString(h.value()));
                    w.write(JSON.writeValueAsString(o));
                    w.newLine();
                }
            }
            ObjectNode out = answer.putObject("partitions");
            all.forEach(t -> out.putObject(t.topic()).put("begin", begin.get(t)).put("end", end.get(t)));
            open.forEach(t -> failed.put(t.topic(), "not read to the end in a minute"));
        }
    }

    static void produce(JsonNode q) throws Exception {
        Properties p = common(q);
        p.put("acks", "all");
        p.put("enable.idempotence", "false"); // a new cluster gives out producer ids that the logs know already
        p.put("linger.ms", "20");
        p.put("compression.type", q.get("codec").asText());
        p.put("delivery.timeout.ms", "30000");
        p.put("request.timeout.ms", "15000");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = 0; n < q.get("count").asInt(); n++)
                for (TopicPartition t : partitions(q)) {
                    byte[] value = (q.get("prefix").asText() + n).getBytes(StandardCharsets.UTF_8);
                    sent.add(producer.send(new ProducerRecord<>(t.topic(), t.partition(), value, value)));
                }
            producer.flush();
            for (Future<RecordMetadata> f : sent) f.get();
        }
    }
}
