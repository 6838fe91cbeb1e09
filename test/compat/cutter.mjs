import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { opcodeReader } from './frames.mjs';

const DAYS = '2';
/** Some libraries know no other port. It is free: the network is the script's own. */
const HTTPS_PORT = 443;

/** A key and a certificate of 127.0.0.1 that it has signed itself. */
export function makeCertificate(folder) {
  const keyFile = join(folder, 'key.pem');
  const certFile = join(folder, 'cert.pem');
  const flags = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const names = ['-days', DAYS, '-subj', '/CN=compat', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const { status, stderr } = spawnSync('openssl', [...flags, ...names, '-keyout', keyFile, '-out', certFile]);
  if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
  return { key: readFileSync(keyFile), cert: readFileSync(certFile), certFile };
}

/**
 * Stands between the bot and the server as a proxy would, with a certificate or without. Every connection of the bot can be
 * cut, and the opcodes that the bot sends to the gateway are noted, in their order.
 */
export async function openCutter(port, certificate) {
  const sockets = new Set();
  const opcodes = [];
  const join = (from, to) => {
    sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', (hadError) => {
      sockets.delete(from);
      // Not before what it said is written: its last word may be a close frame.
      if (hadError) to.destroy();
      else to.destroySoon();
    });
    from.pipe(to);
  };
  const accept = (socket) => {
    const upstream = connect(port, '127.0.0.1');
    socket.on(
      'data',
      opcodeReader((opcode) => opcodes.push(opcode)),
    );
    join(socket, upstream);
    join(upstream, socket);
  };
  const server = certificate ? createTlsServer(certificate, accept) : createServer(accept);
  server.listen(certificate ? HTTPS_PORT : 0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of [...sockets]) socket.destroy();
  };
  const close = () => {
    server.close();
    cut();
  };
  const origin = certificate ? 'https://127.0.0.1' : `http://127.0.0.1:${server.address().port}`;
  return { origin, opcodes, cut, close };
}
