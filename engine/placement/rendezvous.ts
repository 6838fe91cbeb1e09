import { present } from '../../protocol/present.ts';
import { hashOf, mixed } from './partition.ts';

/** The properties of a shard that placement needs. */
export interface Placed {
  readonly id: string;
  /** Its share, relative to the weights of the others. */
  readonly weight: number;
  readonly draining: boolean;
}

const UINT32 = 2 ** 32;
/** Spreads partition numbers over 32 bits before they are combined with a shard's hash. */
const GOLDEN = 0x9e3779b9;

/**
 * Assigns partitions to shards by weighted rendezvous hashing. Every shard draws an exponential number per partition,
 * divided by its weight; the lowest number wins. When a shard joins or leaves, only the partitions it wins or had won
 * move, and every shard computes the same result by itself.
 *
 * Draws depend on the id alone and are cached while a shard is in the view: 8 bytes a partition.
 *
 * @returns By partition the id of its shard; null without shards. Draining shards get nothing, unless all drain.
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
    // Sorted by id, so that every shard resolves a tie alike.
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

/** Exponential numbers of mean 1, equal on every machine for the same shard id. */
function drawsOf(id: string, partitions: number): Float64Array {
  const seed = hashOf(id);
  const draws = new Float64Array(partitions);
  for (let partition = 0; partition < partitions; partition += 1) {
    const bits = mixed(seed ^ mixed(Math.imul(partition + 1, GOLDEN)));
    draws[partition] = -Math.log((bits + 0.5) / UINT32);
  }
  return draws;
}
