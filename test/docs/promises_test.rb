# frozen_string_literal: true

# suites: kernel

require "test_helper"

# Every promise of the README names the tests that hold it.
class PromisesTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  PROMISES = File.read(File.join(ROOT, "README.md"))[/^## What it promises\n(.*?)^## /m, 1].split(/^- /).drop(1)

  def test_every_promise_names_tests_that_exist
    assert_operator PROMISES.size, :>=, 6
    PROMISES.each do |promise|
      tests = promise.scan(%r{`(test/[\w/.]+)`}).flatten
      refute_empty tests, promise
      tests.each { |path| assert_path_exists File.join(ROOT, path), promise }
    end
  end
end
