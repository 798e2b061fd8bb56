# frozen_string_literal: true

# Decides whether a path on disk can be trusted. In a folder where everybody may create files (`/tmp`), another user
# could have placed a file with values of their choice. Files in such a folder must therefore belong to this user.
# Directories and links on the path may also belong to root.
module Tiercel::Ownership
  EVERYBODY_WRITES = 0o002
  # The maximum number of links, as in Linux.
  LINKS = 40

  # @param path [String] absolute path of a file or folder, which need not exist
  # @return [String, nil] the objection; nil if the path can be trusted
  def self.objection(path)
    steps(path) do |parent, child, stat, last|
      next if ::File.stat(parent).mode.nobits?(EVERYBODY_WRITES)
      next if stat.uid == Process.euid || (stat.uid.zero? && !last)
      return "#{readable(child)} belongs to user #{stat.uid}, this process runs as #{Process.euid}, and " \
             "everybody may write to #{readable(parent)}: give another path"
    end
    nil
  rescue SystemCallError
    nil # a file that cannot be examined cannot be opened either
  end

  # @param path [String] the path of a file
  # @return [String, nil] why the file's owner or mode denies access to this process; nil if access is allowed, or if
  #   the file does not exist or is in a folder that this process cannot enter
  def self.closed(path)
    stat = ::File.stat(path)
    return if stat.readable? && stat.writable?
    "#{readable(path)} belongs to user #{stat.uid} and has mode #{format("%04o", stat.mode & 0o7777)}. This process " \
      "runs as #{Process.euid} and cannot read and write it. Run it as that user, or give another path"
  rescue SystemCallError
    nil
  end

  # Walks from the root to the end of the path, or to its last existing part, and follows links.
  #
  # @yieldparam parent [String]
  # @yieldparam child [String]
  # @yieldparam stat [::File::Stat] the stat of the child
  # @yieldparam last [Boolean] whether the child is the end of the path
  def self.steps(path)
    parent = "/"
    parts = path.b.split("/")
    links = 0
    while (part = parts.shift)
      next if part.empty?
      child = ::File.expand_path(part, parent)
      stat = ::File.lstat(child)
      yield parent, child, stat, parts.empty? && !stat.symlink?
      next parent = child unless stat.symlink? && (links += 1) <= LINKS
      target = ::File.readlink(child)
      parent = "/" if target.start_with?("/")
      parts.unshift(*target.split("/"))
    end
  end
  private_class_method :steps

  def self.readable(path) = path.dup.force_encoding(Encoding::UTF_8).scrub
  private_class_method :readable
end
