# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../support/runner/rails_checkout"

class RailsCheckoutTest < Tiercel::TestCase
  def setup
    @dir = File.realpath(Dir.mktmpdir("tiercel-rails-"))
    @repository = File.join(@dir, "rails")
    FileUtils.mkdir_p(File.join(@repository, "activesupport/test/cache"))
    FileUtils.mkdir_p(File.join(@repository, "tools"))
    File.write(File.join(@repository, "tools/a.rb"), "")
    git "init", "--quiet"
    %w[v8.1.2 v8.1.10 v8.1.10.1 v8.2.0.beta1 v8.0.5].each { |tag| release(tag) }
    release("v8.1.11.rc1")
  end

  def teardown = FileUtils.rm_rf(@dir)

  def git(*arguments, dir: @repository)
    author = %w[-c user.name=t -c user.email=t@example.com]
    output, status = Open3.capture2e("git", "-C", dir, *author, *arguments)
    assert status.success?, output
  end

  def release(tag)
    File.write(File.join(@repository, "activesupport/test/cache/behaviors.rb"), tag)
    git "add", "."
    git "commit", "--quiet", "-m", tag
    git "tag", tag
  end

  def checkout(path) = TestRunner::RailsCheckout.new(path, cache: File.join(@dir, "cache"))

  def test_the_newest_release_of_a_line_is_taken
    assert_equal "v8.1.10.1", checkout(@repository).tag("8.1")
    assert_equal "v8.0.5", checkout(@repository).tag("8.0")
    assert_match(/no release tag v8.2/, assert_raises(TestRunner::Error) { checkout(@repository).tag("8.2") }.message)
  end

  def test_its_tests_are_extracted_from_a_work_tree_and_from_a_bare_repository
    git "clone", "--quiet", "--bare", @repository, File.join(@dir, "bare"), dir: @dir
    [@repository, File.join(@dir, "bare")].each do |path|
      FileUtils.rm_rf(File.join(@dir, "cache"))
      folder = checkout(path).tests_of("8.1")
      assert_equal "v8.1.10.1", File.read(File.join(folder, "cache/behaviors.rb"))
      assert_path_exists File.join(folder, "../../tools/a.rb")
      assert_equal folder, checkout(path).tests_of("8.1")
    end
    assert_equal "v8.1.11.rc1", File.read(File.join(@repository, "activesupport/test/cache/behaviors.rb"))
  end

  def test_what_is_no_repository_is_said_so
    assert_match(/not a repository/, assert_raises(TestRunner::Error) { checkout(@dir) }.message)
  end
end
