import { present } from '../../protocol/present.ts';
import { hashOf, mixed } from './partition.ts';

/** What placement asks of a shard. */
export interface Placed {
  readonly id: string;
  /** Its share, beside the weights of the others. */
  readonly weight: number;
  readonly draining: boolean;
}

const UINT32 = 2 ** 32;
/** Spreads the numbers of partitions over 32 bits before they meet the hash of a shard. */
const GOLDEN = 0x9e3779b9;

/**
 * Who is to own which partition: weighted rendezvous hashing. Every shard draws an exponential number per partition,
 * divided by its weight; the least one wins. So what moves when a shard comes or goes is what it wins or had won, and
 * nothing between the others; and every shard finds the same by itself.
 *
 * Draws depend on the id alone and are kept while a shard is in the view: 8 bytes a partition.
 *
 * @returns By partition the id of its shard; null when there is none. Draining shards get nothing, unless all drain.
 * @source https://doi.org/10.1145/1073970.1074008; Schindelhauer and Schomaker, "Weighted Distributed Hash Tables"
 */
export function rendezvous(partitions: number): (shards: readonly Placed[]) => readonly (string | null)[] {
  let drawn = new Map<string, Float64Array>();

  return (shards) => {
    const staying = shards.filter(({ draining }) => !draining);
    const able = staying.length > 0 ? staying : shards;
    const draws = new Map(shards.map(({ id }) => [id, drawn.get(id) ?? drawsOf(id, partitions)]));
    drawn = draws;
    const wanted = new Array<string | null>(partitions).fill(null);
    const least = new Float64Array(partitions).fill(Number.POSITIVE_INFINITY);
    // In the order of the ids, so that a tie ends alike everywhere.
    for (const { id, weight } of [...able].sort((a, b) => (a.id < b.id ? -1 : 1))) {
      const own = present(draws.get(id));
      for (let partition = 0; partition < partitions; partition += 1) {
        const draw = present(own[partition]) / weight;
        if (draw >= present(least[partition])) continue;
        least[partition] = draw;
        wanted[partition] = id;
      }
    }
    return wanted;
  };
}

/** Exponential numbers of mean 1, the same for a shard's id on every machine. */
function drawsOf(id: string, partitions: number): Float64Array {
  const seed = hashOf(id);
  const draws = new Float64Array(partitions);
  for (let partition = 0; partition < partitions; partition += 1) {
    const bits = mixed(seed ^ mixed(Math.imul(partition + 1, GOLDEN)));
    draws[partition] = -Math.log((bits + 0.5) / UINT32);
  }
  return draws;
}
