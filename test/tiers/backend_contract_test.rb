# frozen_string_literal: true
# suites: store

require "test_helper"
require "contracts/backend_contract"
require "tiercel"
$LOAD_PATH.push(File.expand_path("../../tiercel-lab/lib", __dir__))
require "tiercel/lab/servers"

# Tiers pass the contract of every backend.
module TiersBackendContractTests
  # Stacks of a class' URLs, with one folder per test.
  module Stack
    include Tiercel::Contracts::BackendContract

    def before_setup
      super
      @dir = Dir.mktmpdir("tiercel-tiers-")
    end

    def after_teardown
      super
      FileUtils.rm_rf(@dir)
    end

    def build_backend = Tiercel::Places.new(urls).build({})
    def build_peer = build_backend
    def shared = "shared:#{@dir}/segment?size=16MB&ttl=0.5"
    def sqlite = "sqlite:#{@dir}/cache.sqlite3?timeout=20"
  end

  # Wraps the contract's raw bytes in frames, because a near tier copies only frames.
  class Frames < Tiercel::Backend
    def initialize(backend)
      super()
      @backend = backend
    end

    # Reads as the store does.
    def get(key) = open(@backend.near.get(key) || @backend.get(key))

    def get_multi(keys)
      found = @backend.near.get_multi(keys)
      found.merge!(@backend.get_multi(keys - found.keys))
      keys.each_with_object({}) { |key, all| all[key] = open(found[key]) if found.key?(key) }
    end

    def get_with_token(key) = opened(@backend.get_with_token(key))
    def look(key) = opened(@backend.look(key))
    def set(key, bytes, ttl = nil) = @backend.set(key, frame(bytes, ttl), ttl)
    def set_multi(pairs, ttl = nil) = @backend.set_multi(pairs.transform_values { |bytes| frame(bytes, ttl) }, ttl)
    def add(key, bytes, ttl = nil) = @backend.add(key, frame(bytes, ttl), ttl)

    def add_or_get(key, bytes, ttl = nil)
      answer = @backend.add_or_get(key, frame(bytes, ttl), ttl)
      answer == true || opened(answer)
    end

    def compare_and_set(key, bytes, token, ttl = nil) = @backend.compare_and_set(key, frame(bytes, ttl), token, ttl)
    def occupy(key, bytes, ttl = nil, token = nil) = opened(@backend.occupy(key, frame(bytes, ttl), ttl, token))

    def occupy_multi(pairs, ttl = nil, tokens = {})
      frames = pairs.transform_values { |bytes| frame(bytes, ttl) }
      @backend.occupy_multi(frames, ttl, tokens).transform_values { opened(_1) }
    end

    def compare_and_set_multi(changes, ttl = nil)
      @backend.compare_and_set_multi(changes.transform_values { |bytes, token| [frame(bytes, ttl), token] }, ttl)
    end

    %i[delete delete_multi increment touch scan clear cleanup end_leases stats close remote? scannable?].each do |name|
      define_method(name) { |*arguments, &block| @backend.public_send(name, *arguments, &block) }
    end

    private

    def frame(bytes, ttl)
      return bytes if Tiercel::Counter.parse(bytes)
      ends_at = ttl && (Tiercel::Clock.now + ttl)
      Tiercel::Frame.build(Tiercel::Frame::Layout::TYPE_STRING_BINARY, bytes, expires_at: ends_at)
    end

    def open(bytes) = bytes && Tiercel::Frame.frame?(bytes) ? Tiercel::Frame.payload(bytes).b : bytes
    def opened(answer) = answer && [open(answer[0]), *answer[1..]]
  end

  class SharedAndSQLiteTest < Tiercel::TestCase
    include Stack
    def urls = [shared, sqlite]
  end

  class FramesInSharedAndSQLiteTest < Tiercel::TestCase
    include Stack
    def urls = [shared, sqlite]
    def build_backend = Frames.new(super)
  end

  class MemoryAndRedisTest < Tiercel::TestCase
    include Stack

    def versions? = false

    def self.server = @server ||= Tiercel::Lab::Servers::Redis.new.start

    def setup
      super
      backend.clear
    end

    def urls = ["memory:", "#{self.class.server.url}?timeout=5"]
  end
end
