// Goal: the addresses of an application that this server and clients open are URIs, kept as such.
import { expect, test } from 'vitest';
import { applications } from '../../../../transports/rest/resources/applications.ts';
import { BOT, pipelineOf } from '../../../support/rest.ts';

const ADDRESSES = [
  'interactions_endpoint_url',
  'custom_install_url',
  'role_connections_verification_url',
  'event_webhooks_url',
] as const;

function arrange() {
  const application = { id: '1001', owner_id: '2000', bot_id: null, flags: 0 };
  const changes: object[] = [];
  const services = {
    read: { applications: { get: async () => application }, users: { get: async () => [] } },
    blobs: {},
    applications: {
      update: async (_: string, change: object) => {
        changes.push(change);
        return { ok: false, refusal: { status: 400, code: 1, message: 'The test ends here.' } };
      },
    },
  };
  const { pipeline } = pipelineOf(applications, { services, limited: false });
  const update = (body: object) =>
    pipeline.invoke('update_my_application', {
      ...{ params: {}, body },
      ...{ caller: BOT, publicUrl: '', address: null },
    } as never);
  return { changes, update };
}

test.each(ADDRESSES)('update_my_application keeps %s as a URI', async (key) => {
  const { changes, update } = arrange();
  await update({ [key]: 'https://example.org/ü' });
  await update({ [key]: null });
  expect(changes).toEqual([{ [key]: 'https://example.org/%C3%BC' }, { [key]: null }]);
});

test.each(ADDRESSES)('update_my_application refuses an invalid URI as %s', async (key) => {
  const { changes, update } = arrange();
  for (const url of ['javascript:alert(1)', 'https://a.test\\@b.test/', 'https://a.test/ b', 'x'])
    expect((await update({ [key]: url })).body).toMatchObject({ code: 50035, errors: { [key]: {} } });
  expect(changes).toEqual([]);
});
