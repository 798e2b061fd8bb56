# frozen_string_literal: true

require "fileutils"
require "minitest/autorun"
require "open3"
require "rbconfig"

# Rails' own tests of fragments, collections and digests, with Tiercel in place of each memory and file store
# (mount_in_views.rb). Each file runs in a process of its own.
class RailsViewsTest < Minitest::Test
  RAILS = File.expand_path("../..", ENV.fetch("RAILS_BEHAVIOURS"))
  FILES = {
    "actionpack" => %w[test/controller/caching_test.rb test/dispatch/session/cache_store_test.rb],
    "actionview" => %w[test/template/render_test.rb test/template/digestor_test.rb test/template/cache_expiry_test.rb
                       test/template/log_subscriber_test.rb test/activerecord/multifetch_cache_test.rb
                       test/activerecord/relation_cache_test.rb],
  }.freeze
  # Tests that look into Rails' own stores.
  EXPECTED = {}.freeze

  FILES.each do |part, files|
    files.each do |file|
      define_method("test_#{part}_#{File.basename(file, ".rb")}") do
        folder = File.join(RAILS, part)
        skip("not in this version of Rails") unless File.exist?(File.join(folder, file))
        out, status = run_file(folder, file)
        assert_match(/(\d+) runs, \d+ assertions/, out)
        failed = out.scan(/^(\S+#test_\S+)(?: \[|:$)/).flatten.uniq
        assert_equal EXPECTED.fetch(file, []), failed, out[-6_000..] || out
        assert status.success? || EXPECTED.key?(file), out
      end
    end
  end

  private

  def run_file(folder, file)
    paths = %w[test test/lib ../activesupport/test ../actionview/test/lib ../activerecord/test]
    included = ["-I", File.join(__dir__, "stand_ins"), *paths.flat_map { |path| ["-I", File.join(folder, path)] }]
    lib = File.expand_path("../../lib", __dir__)
    FileUtils.mkdir_p(File.join(RAILS, "activerecord/lib")) # Rails' tests look for it; the code is that of the bundle
    Open3.capture2e({ "PARALLEL_WORKERS" => "1", "RAILS_ENV" => "test" }, RbConfig.ruby, "-W0", "-I", lib, *included,
                    "-r", File.join(__dir__, "mount_in_views"), File.join(folder, file), chdir: folder)
  end
end
