import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Produces the records of "kafsck export --lost --out FILE" into their topic again, and reads them back:
 * key, value, headers and timestamp must be the same to the byte. See docs/export.md.
 *
 *   java -cp "$KAFKA_HOME/libs/*" PutBack.java FILE --bootstrap-server HOST:9092 --superseded skip|send
 *        [--topic NAME] [--dry-run] [--property KEY=VALUE]...
 *
 * Each record goes to the partition that it came from, in the order of the file, which is the order of its
 * old log: the order for each key is kept. Left out: records marked as duplicates, records of transactions
 * that were aborted or never ended, transaction markers, and with "--superseded skip" those of which the
 * new log has a newer record of the same key. One idempotent producer with acks=all sends; after any error
 * it stops, and says up to which offset records were acknowledged.
 */
public class PutBack {
    static final ObjectMapper JSON = new ObjectMapper(JsonFactory.builder()
        .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build()).build());

    /** Line is a record of the file, and where it goes. */
    record Line(TopicPartition at, long offset, Long timestamp, byte[] key, byte[] value, List<Header> headers) { }

    static final Map<String, Integer> leftOut = new HashMap<>();
    static String topic = null;
    static boolean sendSuperseded;

    public static void main(String[] args) throws Exception {
        String file = null, superseded = null;
        boolean dry = false;
        Properties common = new Properties();
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--bootstrap-server": common.put("bootstrap.servers", args[++i]); break;
                case "--superseded": superseded = args[++i]; break;
                case "--topic": topic = args[++i]; break;
                case "--dry-run": dry = true; break;
                case "--property": { String[] kv = args[++i].split("=", 2); common.put(kv[0], kv[1]); break; }
                default: file = args[i];
            }
        }
        if (file == null || !"skip".equals(superseded) && !"send".equals(superseded) || !dry && !common.containsKey("bootstrap.servers")) {
            System.err.println("usage: PutBack FILE --bootstrap-server HOST:9092 --superseded skip|send [--topic NAME] [--dry-run] [--property KEY=VALUE]...");
            System.err.println("On a compacted topic skip superseded records: they would take the place of newer ones. Where each record counts, send them.");
            System.exit(64);
        }
        sendSuperseded = superseded.equals("send");
        Path path = Path.of(file);
        int n = count(path);
        System.out.println(n + " records to send, left out: " + leftOut);
        if (dry || n == 0) return;
        long[] offsets = send(path, n, common);
        check(path, offsets, common);
        System.out.println(n + " records sent and read back, equal to the byte");
    }

    /** Reads the file once: whether it is whole, and how many records are to be sent. */
    static int count(Path file) throws IOException {
        int n = 0;
        boolean whole = false;
        try (BufferedReader in = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            for (String text; (text = in.readLine()) != null; ) {
                JsonNode line = JSON.readTree(text);
                whole = line.path("type").asText().equals("summary");
                if (redacted(line)) throw new IOException(file + " was exported with --redact: without keys and values nothing can be put back. Export again without it");
                if (!line.path("type").asText().equals("record")) continue;
                String why = why(line);
                if (why == null) n++;
                else leftOut.merge(why, 1, Integer::sum);
            }
        }
        if (!whole) throw new IOException(file + " has no summary at its end: it was cut short");
        return n;
    }

    /** Whether keys, values or header values were left out: what is missing is no null. */
    static boolean redacted(JsonNode line) {
        boolean out = line.path("redacted").asBoolean() || line.has("keySize") || line.has("valueSize");
        for (JsonNode h : line.path("headers")) out |= h.has("valueSize");
        return out;
    }

    /** Why a record is not sent; null: it is. */
    static String why(JsonNode line) {
        if (line.path("control").asBoolean()) return "transaction marker";
        String state = line.path("transactionState").asText();
        if (!state.equals("none") && !state.equals("committed")) return state + " transaction";
        String mark = line.path("mark").asText("absent");
        if (mark.equals("duplicate") || mark.equals("superseded") && !sendSuperseded) return mark;
        return null;
    }

    static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() || node.isMissingNode() ? null : Base64.getDecoder().decode(node.asText());
    }

    /** The next record of the file that is to be sent; null at the end. */
    static Line next(BufferedReader in) throws IOException {
        for (String text; (text = in.readLine()) != null; ) {
            JsonNode line = JSON.readTree(text);
            if (!line.path("type").asText().equals("record") || why(line) != null) continue;
            List<Header> headers = new ArrayList<>();
            for (JsonNode h : line.path("headers")) {
                if (h.has("keyBytes")) throw new IOException("offset " + line.get("offset") + ": a header key that is no UTF-8, which no client can send");
                headers.add(new RecordHeader(h.get("key").asText(), bytes(h.get("value"))));
            }
            String partition = line.get("partition").asText();
            int dash = partition.lastIndexOf('-');
            long ms = line.get("timestampMs").asLong();
            return new Line(new TopicPartition(topic != null ? topic : partition.substring(0, dash), Integer.parseInt(partition.substring(dash + 1))),
                line.get("offset").asLong(), ms < 0 ? null : ms, bytes(line.get("key")), bytes(line.get("value")), headers);
        }
        return null;
    }

    /** Sends all and returns the new offsets in the order of the file. */
    static long[] send(Path file, int n, Properties common) throws Exception {
        Properties p = new Properties();
        p.put("acks", "all");
        p.put("enable.idempotence", "true");
        p.put("max.request.size", Integer.toString(Integer.MAX_VALUE / 2));
        p.putAll(common);
        long[] offsets = new long[n];
        List<Future<RecordMetadata>> under = new ArrayList<>();
        long acknowledged = -1;
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
             BufferedReader in = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            int done = 0;
            List<Line> lines = new ArrayList<>();
            for (Line l = next(in); ; l = next(in)) {
                if (l != null) {
                    lines.add(l);
                    under.add(producer.send(new ProducerRecord<>(l.at.topic(), l.at.partition(), l.timestamp, l.key, l.value, l.headers)));
                }
                if (l == null || under.size() == 1000) {
                    producer.flush();
                    for (int i = 0; i < under.size(); i++) {
                        try {
                            offsets[done++] = under.get(i).get().offset();
                            acknowledged = lines.get(i).offset;
                        } catch (ExecutionException e) {
                            throw new IOException(lines.get(i).at + " old offset " + lines.get(i).offset + " was refused; the last acknowledged one is " + acknowledged, e.getCause());
                        }
                    }
                    under.clear();
                    lines.clear();
                }
                if (l == null) return offsets;
            }
        }
    }

    /** Reads what was sent and compares. */
    static void check(Path file, long[] offsets, Properties common) throws Exception {
        Properties p = new Properties();
        p.put("enable.auto.commit", "false");
        p.putAll(common);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
             BufferedReader in = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            TopicPartition at = null;
            List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
            int next = 0;
            for (int i = 0; i < offsets.length; i++) {
                Line want = next(in);
                if (!want.at.equals(at)) {
                    at = want.at;
                    consumer.assign(List.of(at));
                    consumer.seek(at, offsets[i]);
                    got = List.of();
                    next = 0;
                }
                ConsumerRecord<byte[], byte[]> have = null;
                for (long end = System.nanoTime() + 60_000_000_000L; have == null; ) {
                    if (next < got.size()) {
                        ConsumerRecord<byte[], byte[]> r = got.get(next++);
                        if (r.offset() > offsets[i]) throw new IOException(at + " offset " + offsets[i] + " cannot be read");
                        if (r.offset() == offsets[i]) have = r; // other producers' records lie between
                        continue;
                    }
                    if (System.nanoTime() > end) throw new IOException(at + " offset " + offsets[i] + " was not read in a minute");
                    got = consumer.poll(Duration.ofSeconds(1)).records(at);
                    next = 0;
                }
                boolean same = Arrays.equals(have.key(), want.key) && Arrays.equals(have.value(), want.value) && Arrays.asList(have.headers().toArray()).equals(want.headers)
                    && (want.timestamp == null || have.timestamp() == want.timestamp);
                if (!same) throw new IOException(at + " offset " + offsets[i] + " differs from old offset " + want.offset + ": is message.timestamp.type=LogAppendTime?");
            }
        }
    }
}
