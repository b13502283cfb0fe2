import { test } from "node:test";
import assert from "node:assert/strict";
import { way } from "./way.js";

const here = "https://door.example";
const assets = ["/assets/wallet-ABC.js"];
const choose = (method: string, address: string, navigation = false) => way(method, new URL(address, here), navigation, here, "/w", assets);

test("the page and its hashed assets come from the store, with any fragment or query on the page", () => {
  assert.equal(choose("GET", "/w", true), "page");
  assert.equal(choose("GET", "/w#secret", true), "page");
  assert.equal(choose("GET", "/assets/wallet-ABC.js"), "asset");
});

test("the API, other pages, other origins and everything that is not a GET are left alone", () => {
  for (const address of ["/v1/wallet/nonce", "/v1/scans", "/gate", "/assets/gate-ABC.js", "https://other.example/assets/wallet-ABC.js"]) {
    assert.equal(choose("GET", address), "leave", address);
  }
  assert.equal(choose("GET", "/gate", true), "leave");
  assert.equal(choose("POST", "/w", true), "leave");
  assert.equal(choose("POST", "/assets/wallet-ABC.js"), "leave");
});
