import { VIDEO_CODECS } from '../../protocol/voice.ts';

/** A simulcast layer that a member may send. */
export interface Layer {
  readonly ssrc: number;
  readonly rtxSsrc: number;
  readonly rid: string;
  readonly quality: number;
  readonly type: string;
}

/** A codec as a client offers it. */
export interface Codec {
  readonly name: string;
  readonly type: 'audio' | 'video';
  /** Lower is preferred. */
  readonly priority: number;
  readonly encode: boolean;
  readonly decode: boolean;
}

/** Qualities that a member wants to receive, from 0 (nothing) to 100, per primary SSRC; `any` for all others. */
export interface SinkWants {
  readonly any: number;
  readonly bySsrc: ReadonlyMap<number, number>;
}

export const EVERYTHING: SinkWants = { any: 100, bySsrc: new Map() };
const NOTHING: SinkWants = { any: 0, bySsrc: new Map() };

/** The wants of a member before its first op 15. A member without video in Identify, who has no layers, wants none. */
export const wantsAtFirst = (layers: readonly Layer[]): SinkWants =>
  layers.length > 0 ? EVERYTHING : NOTHING;

/** By the layer's SSRC, the quality to send it in; 0 for a layer that no member wants (op 15). */
export type WantedLayers = Readonly<Record<string, number>>;

/** Whether two lists of wanted layers of the same sender are equal. */
export const sameWanted = (a: WantedLayers, b: WantedLayers): boolean =>
  Object.keys(a).every((ssrc) => a[ssrc] === b[ssrc]);

/** A simulcast layer as a client offers it in Identify. */
type OfferedLayer = Pick<Layer, 'type' | 'rid' | 'quality'>;

const WHOLE_PICTURE: readonly OfferedLayer[] = [{ type: 'video', rid: '100', quality: 100 }];

/** The layers of a client that offers these in Identify: one layer for a client with video that lists none. */
export const layersOf = (streams: readonly OfferedLayer[], hasVideo: boolean): readonly OfferedLayer[] =>
  streams.length === 0 && hasVideo ? WHOLE_PICTURE : streams;

const KNOWN: ReadonlySet<string> = new Set(VIDEO_CODECS.map(({ name }) => name));
const FALLBACK = VIDEO_CODECS[0].name;

/** Video codecs that every member who named codecs can decode. O(members · codecs). */
export function sharedCodecs(offers: Iterable<readonly Codec[]>): ReadonlySet<string> {
  let shared = new Set(KNOWN);
  for (const codecs of offers) {
    if (codecs.length === 0) continue;
    const decoded = new Set(codecs.flatMap(({ name, decode }) => (decode ? [name] : [])));
    shared = new Set([...shared].filter((name) => decoded.has(name)));
  }
  return shared;
}

/** The codec a member must send: its preferred one of those that all can decode, else its preferred one, else H264. */
export function videoCodec(own: readonly Codec[], shared: ReadonlySet<string>): string {
  const able = own
    .filter(({ name, type, encode }) => type === 'video' && encode && KNOWN.has(name))
    .sort((a, b) => a.priority - b.priority);
  return (able.find(({ name }) => shared.has(name)) ?? able[0])?.name ?? FALLBACK;
}

/** The SSRC by which others name a member's video: the SSRC of its best layer. */
export const primarySsrc = (layers: readonly Layer[]): number =>
  layers.reduce<Layer | null>((best, layer) => (best && best.quality >= layer.quality ? best : layer), null)
    ?.ssrc ?? 0;

/**
 * The layers that the others want from a sender (op 15): a layer's quality when someone is to receive it, else 0. Each
 * receiver gets the best layer within its wanted quality, or the lowest layer. O(receivers · layers).
 */
export function wantedLayers(layers: readonly Layer[], receivers: Iterable<SinkWants>): WantedLayers {
  const rising = [...layers].sort((a, b) => a.quality - b.quality);
  const primary = primarySsrc(layers);
  const chosen = new Set<number>();
  for (const { any, bySsrc } of receivers) {
    const wanted = bySsrc.get(primary) ?? any;
    const layer = rising.findLast(({ quality }) => quality <= wanted) ?? rising[0];
    if (wanted > 0 && layer) chosen.add(layer.ssrc);
    if (chosen.size === layers.length) break;
  }
  return Object.fromEntries(layers.map(({ ssrc, quality }) => [ssrc, chosen.has(ssrc) ? quality : 0]));
}
