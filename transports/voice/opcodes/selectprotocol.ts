import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Codecs, codecsOf, Nullish, sessionOpcode, Word } from './opcode.ts';

/** Bound of an SDP fragment; browsers write well under a hundred lines. */
const FRAGMENT_CHARS_MAX = 32 << 10;

const withData = <S extends TSchema>(data: S) =>
  Compile(Type.Object({ protocol: Word, data, codecs: Nullish(Codecs) }));
const udp = withData(
  Type.Object({ address: Word, port: Type.Integer({ minimum: 0, maximum: 0xffff }), mode: Word }),
);
const webrtc = withData(Type.String({ maxLength: FRAGMENT_CHARS_MAX }));

const codecs = (d: { codecs?: Static<typeof Codecs> | null }) => codecsOf(d.codecs ?? []);

/** Op 1. The protocol is checked before its data, because the data of an unknown protocol has another shape. */
export const selectProtocol = sessionOpcode(Type.Object({ protocol: Word }), (session, d, connection) => {
  const { protocol } = d;
  if (protocol !== 'udp' && protocol !== 'webrtc') connection.unknownProtocol();
  else if (protocol === 'udp' && udp.Check(d))
    session.selectProtocol({ protocol, ...d.data, codecs: codecs(d) });
  else if (protocol === 'webrtc' && webrtc.Check(d))
    session.selectProtocol({ protocol, fragment: d.data, codecs: codecs(d) });
  else return false;
  return true;
});
