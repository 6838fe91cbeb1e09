// Goal: a PostgreSQL server that refuses a connection is distinguished from an unreachable one.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { openPostgres } from '../../../storage/database/postgres.ts';

let server: Server | undefined;
afterEach(() => server?.close());

/**
 * A server that answers every start-up message with an error.
 *
 * @source https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
async function refusing(code: string, message: string): Promise<string> {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(Buffer.concat([head, fields])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `postgres://me@127.0.0.1:${(server.address() as AddressInfo).port}/nope`;
}

describe('a start with PostgreSQL', () => {
  test.each([
    ['3D000', 'database "nope" does not exist'],
    ['28000', 'role "me" does not exist'],
    ['57P03', 'the database system is starting up'],
  ])('reports the message of the server for the refusal %s', async (code, message) => {
    const databaseUrl = await refusing(code, message);
    await expect(openPostgres({ databaseUrl })).rejects.toThrow(
      `The PostgreSQL server refused the connection: ${message}`,
    );
  });

  test('reports that the server does not respond when it is unreachable', async () => {
    const opening = openPostgres({ databaseUrl: 'postgres://me@127.0.0.1:1/nope' });
    await expect(opening).rejects.toThrow('The PostgreSQL server does not answer: ');
  });

  test('refuses a pooler of statements, which would tear a commit apart', async () => {
    const opening = openPostgres({ databaseUrl: 'postgres://me@127.0.0.1:1/nope?pooler=statement' });
    await expect(opening).rejects.toThrow('The pooler of database_url is statement; it must be transaction.');
  });
});
