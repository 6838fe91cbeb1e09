/** One media section of the page's connection, and the member it receives. */
export interface Section {
  readonly mid: string;
  /** The page sends in it; otherwise it receives `ssrc`, or nothing while that is null. */
  readonly sends: boolean;
  readonly ssrc: number | null;
}

/** Lines of an offer that op 1 contains, each once and without their sections. */
const WANTED = /^a=(?:extmap-allow-mixed$|ice-|fingerprint:|extmap:|rtpmap:\d+ opus\/)/;

/** The `data` of op 1, from a browser's offer. */
export function fragmentOf(offer: string): string {
  return [...new Set(offer.split(/\r?\n/).filter((line) => WANTED.test(line)))].join('\n');
}

/** Mids of an offer's sections, in order. */
export const midsOf = (offer: string): string[] =>
  [...offer.matchAll(/^a=mid:(\S+)/gm)].map(([, mid]) => mid!);

/**
 * Builds the server's answer to an offer from op 4: the offer's sections in the offer's order, with one transport
 * for all of them.
 *
 * Offer at least two receiving sections: with one, browsers assign packets of an unknown SSRC to it, and the
 * member received there falls silent.
 *
 * @param session  The SDP of op 4.
 * @param sections By mid; a mid that is not listed receives nothing.
 */
export function answerTo(offer: string, session: string, sections: readonly Section[]): string {
  const lines = session.split(/\r?\n/);
  const transport = lines.filter((line) => /^a=(?:ice-ufrag|ice-pwd|fingerprint|candidate):/.test(line));
  const connection = lines.find((line) => /^c=\S+ \S+ \S+$/.test(line)) ?? 'c=IN IP4 0.0.0.0';
  const opus = /^a=rtpmap:(\d+) opus\//m.exec(offer)?.[1] ?? '111';
  const mids = midsOf(offer);
  const body = mids.flatMap((mid) => {
    const section = sections.find((each) => each.mid === mid) ?? { mid, sends: false, ssrc: null };
    return [
      `m=audio 9 UDP/TLS/RTP/SAVPF ${opus}`,
      connection,
      ...transport,
      'a=setup:passive',
      `a=mid:${mid}`,
      `a=${section.sends ? 'recvonly' : 'sendonly'}`,
      'a=rtcp-mux',
      `a=rtpmap:${opus} opus/48000/2`,
      `a=fmtp:${opus} minptime=10;useinbandfec=1;usedtx=0;stereo=1`,
      ...namesOf(section),
    ];
  });
  const head = ['v=0', 'o=- 1 1 IN IP4 0.0.0.0', 's=-', 't=0 0', `a=group:BUNDLE ${mids.join(' ')}`];
  return `${[...head, ...body].join('\r\n')}\r\n`;
}

function namesOf({ sends, ssrc }: Section): string[] {
  if (sends || ssrc === null) return [];
  return [`a=msid:s${ssrc} a${ssrc}`, `a=ssrc:${ssrc} cname:s${ssrc}`];
}
