import { test } from "node:test";
import assert from "node:assert/strict";
import { appOf } from "./inapp.js";

const iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";
const android = "Mozilla/5.0 (Linux; Android 15; Pixel 8";

test("browsers inside other apps are told from browsers of their own", () => {
  const cases: [string, string | undefined][] = [
    [`${iPhone} Version/18.5 Mobile/15E148 Safari/604.1`, undefined],
    [`${iPhone} CriOS/137.0.7151.51 Mobile/15E148 Safari/604.1`, undefined],
    [`${iPhone} FxiOS/139.0 Mobile/15E148 Safari/605.1.15`, undefined],
    [`${iPhone} Mobile/15E148`, ""],
    [`${iPhone} Mobile/15E148 [FBAN/FBIOS;FBAV/516.0.0.50.93]`, "Facebook"],
    [`${iPhone} Mobile/15E148 Instagram 382.0.0.27.99 (iPhone14,5)`, "Instagram"],
    [`${iPhone} GSA/370.0.762543316 Mobile/15E148 Safari/604.1`, "Google"],
    [`${android}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile Safari/537.36`, undefined],
    [`${android}; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/137.0.0.0 Mobile Safari/537.36`, ""],
    [`${android}; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/137.0.0.0 Mobile Safari/537.36 Line/15.8.0`, "LINE"],
    ["Mozilla/5.0 (Android 15; Mobile; rv:139.0) Gecko/139.0 Firefox/139.0", undefined],
    ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36", undefined],
  ];
  for (const [userAgent, app] of cases) assert.equal(appOf(userAgent), app, userAgent);
});
