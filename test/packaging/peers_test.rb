# frozen_string_literal: true

require "test_helper"
require "open3"
require "rbconfig"

# `rake peers` compares shared: with PHP's APCu.
class PeersTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)

  def peers(**environment)
    Open3.capture2e(environment.transform_keys(&:to_s), RbConfig.ruby, "-W0", "-rrake", "-e",
                    'Rake.application.run(["--silent", "peers[1,0.001]"])', chdir: ROOT)
  end

  def test_without_php_it_says_what_to_install
    with_tmpdir do |empty|
      out, status = peers(PATH: empty)
      refute status.success?
      assert_match(/^No PHP with APCu here\. On Debian: apt-get install php-cli php-apcu$/, out)
    end
  end

  def test_a_row_for_each_case_and_a_column_for_each_side
    skip "PHP with APCu is not installed" unless system("php", "-m", out: File::NULL, err: File::NULL) &&
                                                 `php -d apc.enable_cli=1 -m`.include?("apcu")
    out, status = peers
    assert status.success?, out
    assert_match(/^PHP [\d.]+, APCu [\d.]+; ruby/, out)
    assert_equal [5] * 4, out.lines.grep(/^\| .* us \|$/).map { |row| row.count("|") - 1 }
  end
end
