# frozen_string_literal: true

require_relative "../../support/lab_case"

class SidesTest < LabCase
  Arguments = Lab::Tables::Compare::Arguments

  def with_repository
    Dir.mktmpdir do |folder|
      repository = File.join(folder, "repository")
      FileUtils.mkdir_p(repository)
      git(repository, "init", "--quiet")
      with_env("XDG_CACHE_HOME" => File.join(folder, "cache")) { yield repository }
    end
  end

  def git(folder, *words)
    person = %w[-c user.name=Somebody -c user.email=somebody@example.org -c commit.gpgsign=false]
    assert system("git", "-C", folder, *person, *words, out: File::NULL), words.join(" ")
  end

  def commit(repository, title, files)
    files.each do |name, text|
      FileUtils.mkdir_p(File.dirname(File.join(repository, name)))
      File.write(File.join(repository, name), text)
    end
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", title)
  end

  def parse(text, repository: ".") = Arguments.parse("base", text, repository:)

  def cell(store) = Lab::Sides::Cell.store(store, "read", "string-100b")

  def test_revisions_are_copied_and_compiled_once
    with_repository do |repository|
      commit(repository, "First", "lib/tiercel/thing.rb" => "1\n",
             "ext/tiercel/tiny/extconf.rb" => "require \"mkmf\"\ncreate_makefile(\"tiercel/tiny_ext\")\n",
             "ext/tiercel/tiny/tiny.c" => "void Init_tiny_ext(void) {}\n")
      commit(repository, "Second", "README.md" => "words\n")
      commit(repository, "Third", "lib/tiercel/thing.rb" => "2\n")
      first, second, third, here = %w[HEAD~2 HEAD~1 HEAD .].map { |text| parse(text, repository:) }
      assert_equal first.fingerprint, second.fingerprint
      refute_equal second.fingerprint, third.fingerprint
      assert_equal third.fingerprint, here.fingerprint
      assert_equal ["First", "the checkout as it is"], [first, here].map { |side| side.describe["title"] }
      said = []
      progress = Object.new.tap { |object| object.define_singleton_method(:say) { |text| said << text } }
      2.times { first.prepare(progress) }
      assert_equal ["base: compiling"], said
      assert_equal "1\n", File.read(File.join(first.folder, "lib/tiercel/thing.rb"))
      assert_path_exists File.join(first.folder, "lib/tiercel/tiny_ext.#{RbConfig::CONFIG["DLEXT"]}")
      assert_equal "base: read string-100b tiercel:memory:", first.contestant(cell("tiercel:memory:")).name
      bundles = [false, true].map { |again| first.contestant(cell("tiercel:memory:"), again:).bundle }
      assert_equal bundles, bundles.uniq
      assert_match(/gem "tiercel", path: "#{first.folder}"/, File.read(bundles.first))
    end
  end

  def test_what_does_not_compile_says_so
    with_repository do |repository|
      commit(repository, "Broken", "ext/tiercel/tiny/extconf.rb" => "abort \"no compiler for you\"\n",
             "ext/tiercel/tiny/tiny.c" => "")
      error = assert_raises(Lab::CannotRun) { parse("HEAD", repository:).prepare(progress) }
      assert_match(/\Abase \(HEAD\): .*no compiler for you/, error.message)
    end
  end

  def test_gems_keep_everything_else_as_it_is
    with_repository do
      side = parse("dalli@5.0.2")
      assert_equal ["mem_cache_store"], side.stores
      text = File.read(side.contestant(cell("mem_cache_store")).bundle)
      assert_match(/^gem "dalli", "= 5.0.2"$/, text)
      assert_match(/^gem "activesupport", "= #{ActiveSupport.version}"$/, text)
      refute_match(/^gem "tiercel-lab"/, text)
      text = File.read(parse("litestack@0.4.3").contestant(cell("litecache")).bundle)
      assert_match(/^gem "litestack", "= 0.4.3"$/, text)
      assert_equal 1, text.scan("litestack\"").size
      assert_match(/sqlite3", "~> 1/, text)
    end
  end

  def test_the_same_is_refused_unless_asked_for
    { %w[dalli@5.3 dalli@5.3.0] => /same version of dalli/,
      %w[tiercel:memory: tiercel:memory:] => /same store with the same options/,
      %w[tiercel:memory:#compress=false x=tiercel:memory:#compress=false] => /same store/ }.each do |texts, words|
      sides = texts.map { |text| parse(text) }
      assert_match words, assert_raises(Lab::UsageError) { Arguments.check(sides, same: false) }.message
      assert_nil Arguments.check(sides, same: true)
    end
  end

  # By hand: log 2 +- log 1.1 and log 4 +- log 1.2 differ by log 2 +- sqrt(log(1.1)^2 + log(1.2)^2) = 0.2058.
  def test_the_interval_of_a_difference
    one, other = [[2.0, 1.1], [4.0, 1.2]].map do |middle, factor|
      Lab::Statistics::Interval.new(*[middle, middle / factor, middle * factor].map { |number| Math.log(number) })
    end
    ratio = other.minus(one).exp
    assert_in_delta 2.0, ratio.estimate, 1e-9
    assert_in_delta 2.0 * Math.exp(0.20581), ratio.high, 1e-3
    assert_in_delta 2.0 / Math.exp(0.20581), ratio.low, 1e-3
    sum = Lab::Statistics::Interval.new(3.0, 2.0, 5.0).plus(Lab::Statistics::Interval.new(4.0, 1.0, 4.0))
    assert_equal [7.0, 7 - Math.sqrt(10), 9.0], sum.to_h.values
  end
end
