# frozen_string_literal: true

# suites: kernel

require "test_helper"

# Every link between documents leads to a file and a heading that exist.
class LinksTest < Tiercel::TestCase
  ROOT = File.expand_path("../..", __dir__)
  REPOSITORY = %r{\Ahttps://github\.com/tiercel/tiercel/(?:blob|tree|raw)/main/}
  FENCE = /^ *```.*?^ *```/m
  PAGES = Dir.chdir(ROOT) do
    Dir["*.md", "{docs,adr,tiercel-lab/docs}/**/*.md", "{test,tiercel-lab,tiercel-insight}/README.md",
        "{ext,lib}/**/*.md"]
  end.freeze

  PAGES.each do |page|
    define_method(:"test_#{page}") do
      assert_empty(links(page).reject { |target| exists?(page, target) })
    end
  end

  # Nobody can check these links before the repository's page exists, so they are in one place.
  def test_links_to_the_repository
    linking = PAGES.select { |page| links(page).any?(REPOSITORY) }
    assert_equal %w[docs/README.md tiercel-insight/README.md], linking.sort
  end

  def test_pages_that_code_names
    code = Dir.chdir(ROOT) { Dir["{lib,ext,tiercel-insight/lib,tiercel-lab/lib}/**/*.{rb,rake,c,h,erb}"] }
    named = code.flat_map { |file| File.read(File.join(ROOT, file)).scan(%r{(?<![\w/])docs/[\w-]+\.md(?:#[\w-]+)?}) }
    assert_operator named.size, :>=, 5
    assert_empty(named.uniq.reject { |target| exists?("README.md", target) })
  end

  private

  def text(page) = File.read(File.join(ROOT, page)).gsub(FENCE, "")
  def links(page) = text(page).scan(/\]\(([^)\s]+)\)/).flatten

  def exists?(page, target)
    return true if target.start_with?("http") && !target.match?(REPOSITORY)

    path = path_of(page, target)
    anchor = target[/#(.*)/, 1]
    File.exist?(File.join(ROOT, path)) && (anchor.nil? || !path.end_with?(".md") || anchors(path).include?(anchor))
  end

  def path_of(page, target)
    file = target.sub(/#.*/, "")
    return file.sub(REPOSITORY, "") if file.match?(REPOSITORY)
    return page if file.empty?

    File.expand_path(file, File.join("/", File.dirname(page))).delete_prefix("/")
  end

  # GitHub's rule: lower case, no punctuation, hyphens for spaces.
  def anchors(page)
    text(page).scan(/^#+ (.*)$/).flatten.map { |title| title.downcase.gsub(/[^\p{Alnum}\-_ ]/, "").tr(" ", "-") }
  end
end
