# frozen_string_literal: true
# suites: store

require "test_helper"
require "open3"
require "rbconfig"

# The files that a process loads for a store: every console, task and worker has to load them.
class StoreBootTest < Tiercel::TestCase
  LIB = File.expand_path("../../lib", __dir__)
  # Libraries, and parts of Tiercel, that a store over one local backend does not need.
  UNNEEDED = %w[openssl.rb /uri.rb msgpack.rb socket.rb objspace.rb tiercel/tiers.rb tiercel/doctor.rb
                tiercel/backends/redis.rb tiercel/accessor/request_local.rb].freeze
  BOOT = <<~'RUBY'
    require "active_support"
    require "active_support/cache"
    before = $LOADED_FEATURES.dup
    store = ActiveSupport::Cache.lookup_store(:tiercel_store, *eval(ARGV.first))
    store.fetch("name", expires_in: 60) { "value" }
    abort "not cached" unless store.read("name") == "value"
    puts $LOADED_FEATURES - before
  RUBY

  def loaded(urls)
    out, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", BOOT, urls.inspect)
    assert status.success?, out
    out.lines(chomp: true)
  end

  def test_a_store_loads_only_what_it_uses
    [["shared:#{dir}/segment", { size: "4MB" }], ["memory:"]].each do |urls|
      files = loaded(urls)
      assert_empty(UNNEEDED.select { |name| files.any? { |file| file.end_with?(name) } }, urls.inspect)
      assert_operator files.size, :<, 150, "#{urls.inspect} loads many files"
    end
    stack = loaded(["shared:#{dir}/near?size=4MB", "file:#{dir}/files"])
    assert(stack.any? { |file| file.end_with?("tiercel/tiers.rb") })
  end

  FAILURES = <<~'RUBY'
    require "active_support"
    require "active_support/cache"
    store = ActiveSupport::Cache.lookup_store(:tiercel_store, *eval(ARGV.first))
    store.fetch("name") { "value" }
    store.read("name")
    before = $LOADED_FEATURES.dup
    store.backend.set("damaged", "no frame", nil) unless ARGV[0].include?("127.0.0.1")
    store.read("damaged")
    store.fetch("damaged") { 1 }
    require "fileutils"
    FileUtils.rm_rf(ARGV[1])
    File.write(ARGV[1], "no folder")
    3.times { [store.read("name"), store.write("name", 1), store.fetch("other") { 2 }, store.delete("name")] }
    store.read_multi("name", "other")
    store.increment("count")
    puts($LOADED_FEATURES.drop(before.size).grep(%r{/lib/tiercel/}))
  RUBY

  # A process in a chroot, or without a free descriptor, could not load a file.
  def test_a_failure_loads_nothing
    ["memory:", "shared:%s/segment?size=4MB", "file:%s/files", "sqlite:%s/cache", "redis://127.0.0.1:1/0",
     "memcached://127.0.0.1:1"].each do |url|
      with_tmpdir do |folder|
        inner = "#{folder}/place"
        Dir.mkdir(inner)
        urls = [url.sub("%s", inner)]
        out, status = Open3.capture2e(RbConfig.ruby, "-I#{LIB}", "-e", FAILURES, urls.inspect, inner)
        assert_predicate status, :success?, out
        assert_empty out, url
      end
    end
  end
end
