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
                tiercel/backends/redis.rb tiercel/leases/placeholders.rb tiercel/accessor/request_local.rb].freeze
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
    with_tmpdir do |folder|
      [["shared:#{folder}/segment", { size: "4MB" }], ["memory:"]].each do |urls|
        files = loaded(urls)
        assert_empty(UNNEEDED.select { |name| files.any? { |file| file.end_with?(name) } }, urls.inspect)
        assert_operator files.size, :<, 150, "#{urls.inspect} loads many files"
      end
      stack = loaded(["shared:#{folder}/near?size=4MB", "file:#{folder}/files"])
      assert(stack.any? { |file| file.end_with?("tiercel/tiers.rb") })
    end
  end
end
