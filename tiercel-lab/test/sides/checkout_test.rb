# frozen_string_literal: true

require_relative "../support/lab_case"
require_relative "../support/small_gem"

# A gate reads a repository and leaves it unchanged.
class CheckoutTest < LabCase
  def checkout(gem) = Lab::Sides::Checkout.new(gem.folder)

  # Git takes a file of the same length and second for unchanged, unless its index is older.
  def test_a_change_of_the_same_length_within_a_second_is_seen_each_time
    SmallGem.make do |gem|
      gem.change("lib/small_gem.rb", "\",\"", "\";\"")
      trees = Array.new(3) { checkout(gem).tree(".") }
      assert_equal 1, trees.uniq.size
      refute_equal checkout(gem).tree("HEAD"), trees.first
    end
  end

  def test_the_head_s_benchmarks_lie_over_the_base_and_the_repository_is_left_alone
    SmallGem.make do |gem|
      gem.write("bench/new_bench.rb", "1\n").change("bench/parse_bench.rb", "parse", "again")
      gem.write(".gitattributes", "lib export-ignore\n").write(".gitignore", "ignored\n").write("ignored", "x")
      before = [gem.git("status", "--porcelain"), gem.git("count-objects")]
      own = checkout(gem)
      tree = own.tree("HEAD", over: own.tree("."), globs: ["bench/**/*_bench.rb"])
      assert_equal %w[.tiercel-lab.yml bench/new_bench.rb bench/parse_bench.rb lib/small_gem.rb small_gem.gemspec],
                   own.entries(tree).keys.sort
      assert_equal before, [gem.git("status", "--porcelain"), gem.git("count-objects")]
      target = File.join(gem.folder, "..", "copy")
      own.write(own.tree("."), target)
      assert_equal %w[.gitattributes .gitignore .tiercel-lab.yml bench lib small_gem.gemspec], Dir.children(target).sort
      assert_includes File.read(File.join(target, "bench/parse_bench.rb")), "again"
    end
  end

  # A repository without benchmarks copies none into the tree of its base.
  def test_without_benchmarks_the_base_is_what_was_committed
    SmallGem.make do |gem|
      gem.change("lib/small_gem.rb", "\",\"", "\";\"")
      own = checkout(gem)
      assert_equal own.tree("HEAD"), own.tree("HEAD", over: own.tree("."), globs: [])
    end
  end

  def test_a_shallow_clone_says_what_to_do
    SmallGem.make do |gem|
      gem.write("a", "1").commit("Second")
      shallow = File.join(gem.folder, "..", "shallow")
      gem.git("clone", "--quiet", "--depth=1", "file://#{gem.folder}", shallow)
      error = assert_raises(Lab::UsageError) { Lab::Sides::Checkout.new(shallow).commit("HEAD^") }
      assert_match(/revision "HEAD\^" is not in .*shallow.*fetch-depth: 0/, error.message)
    end
  end
end
