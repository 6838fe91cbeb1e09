/** The `/metrics` output of one process. */
interface ShardMetrics {
  readonly shard: string;
  readonly text: string;
}

interface Family {
  readonly comments: string[];
  readonly samples: string[];
}

/** A sample: its name, optional labels, and the rest. */
const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?( .*)$/;
const COMMENT = /^# (?:HELP|TYPE) (\S+)/;
/** Suffixes that the samples of histograms and summaries add to the name of their family. */
const PARTS = /_(?:bucket|sum|count)$/;

/**
 * Merges the metrics of several processes: each sample gets the label `shard`, and all samples of a family are grouped, as
 * the format requires. Lines that are not valid are omitted.
 *
 * @param own Metrics of the merging process; first, without the label.
 * @source https://prometheus.io/docs/instrumenting/exposition_formats/, "Comments, help text, and type information"
 */
export function mergedMetrics(own: string, shards: readonly ShardMetrics[]): string {
  const families = new Map<string, Family>();
  read(own, (sample) => sample, families);
  for (const { shard, text } of shards) {
    const label = `shard="${shard}"`;
    const labelled = (_: string, name: string, labels: string | undefined, rest: string) =>
      `${name}{${label}${labels ? `,${labels}` : ''}}${rest}`;
    read(text, (sample) => sample.replace(SAMPLE, labelled), families);
  }
  const lines = [...families.values()].flatMap(({ comments, samples }) => [...comments, ...samples]);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function read(text: string, shown: (sample: string) => string, families: Map<string, Family>): void {
  const own = new Set<string>();
  for (const line of text.split('\n')) {
    const commented = COMMENT.exec(line)?.[1];
    const sampled = commented === undefined ? SAMPLE.exec(line)?.[1] : undefined;
    const name = commented ?? (sampled === undefined ? undefined : familyOf(sampled, own));
    if (name === undefined) continue;
    const family = families.get(name) ?? { comments: [], samples: [] };
    families.set(name, family);
    if (commented === undefined) family.samples.push(shown(line));
    else {
      own.add(name);
      if (!family.comments.includes(line)) family.comments.push(line);
    }
  }
}

const familyOf = (sample: string, known: ReadonlySet<string>): string => {
  const family = sample.replace(PARTS, '');
  return !known.has(sample) && known.has(family) ? family : sample;
};
