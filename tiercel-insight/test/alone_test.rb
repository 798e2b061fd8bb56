# frozen_string_literal: true

# suites: insight

require "test_helper"
require "open3"

# The gem without the gem tiercel: it loads none of its files.
class AloneTest < Tiercel::TestCase
  CODE = <<~'RUBY'
    require "tiercel/insight"
    require "tmpdir"
    Dir.mktmpdir do |folder|
      store = ActiveSupport::Cache::MemoryStore.new
      Tiercel::Insight.start(store, folder:)
      audit = Tiercel::Insight.audit(1.0)
      value = 1
      store.fetch("a/1") { value }
      value = 2
      store.fetch("a/1") { value }
      text = Tiercel::Insight::Summary.new(store).to_text
      request = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/", "QUERY_STRING" => "" }
      page = Tiercel::Insight::Web.new(store:, protected_by: :routes).call(request)
      report = Tiercel::Insight::Doctor.new({ "cache" => store }).examine
      puts text[/\A1 hits, 1 misses/], page.first, audit.stale.size, report.findings.size.positive?
      files = Tiercel::Insight::Doctor.new({ "cache" => ActiveSupport::Cache::FileStore.new(folder) }).examine
      puts files.to_text[/-> gem "tiercel", and config.cache_store/]
      puts defined?(Tiercel.new).inspect
      p($LOADED_FEATURES.grep(%r{/lib/tiercel(?!/insight|-insight)|_ext\.so}).grep(/tiercel/).grep_v(/version\.rb/))
      Tiercel::Insight.stop
    end
  RUBY

  def test_without_tiercel
    out, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I", File.expand_path("../lib", __dir__), "-e", CODE)
    assert_predicate status, :success?, out
    assert_equal ["1 hits, 1 misses", "200", "1", "true", '-> gem "tiercel", and config.cache_store', "nil", "[]"],
                 out.lines(chomp: true)
  end
end
