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
    "actionpack" => %w[test/controller/caching_test.rb test/controller/log_subscriber_test.rb
                       test/controller/structured_event_subscriber_test.rb test/dispatch/session/cache_store_test.rb],
    "actionview" => %w[test/template/render_test.rb test/template/digestor_test.rb test/template/cache_expiry_test.rb
                       test/template/log_subscriber_test.rb test/template/structured_event_subscriber_test.rb
                       test/activerecord/multifetch_cache_test.rb test/activerecord/relation_cache_test.rb],
  }.freeze
  # Fails without Tiercel too, on Rails' main branch.
  FAILS_ANYWAY = "/test_process_action_with_wrapped_parameters/"

  FILES.each do |part, files|
    files.each do |file|
      define_method("test_#{part}_#{File.basename(file, ".rb")}") do
        folder = File.join(RAILS, part)
        skip("not in this version of Rails") unless File.exist?(File.join(folder, file))
        out, status = run_file(folder, file)
        assert_match(/(\d+) runs, \d+ assertions/, out)
        assert status.success?, out[-6_000..] || out
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
                    "-r", File.join(__dir__, "mount_in_views"), File.join(folder, file), "--exclude", FAILS_ANYWAY,
                    chdir: folder)
  end
end
